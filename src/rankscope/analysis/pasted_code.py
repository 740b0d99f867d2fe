"""Code of the program in a text: sections that not every rank runs, with what they hold and what comes after them.

People paste the loop that hangs. Its indentation tells the blocks; nothing of it is executed or compiled, and what is left
out (``...``) is no obstacle.
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..model.patterns import regex
from ..model.repeated import of_texts

LONGEST = 4000  # lines; a longer text is no pasted code
_WIDEST = 300  # of a longer line the rest is data


@dataclass(frozen=True)
class Line:
    """One line of code: how deep it is set, and its text."""

    depth: int
    text: str


@dataclass(frozen=True)
class Section:
    """A block below a condition: who runs it (``one`` rank, ``rest``, ``some`` by their own data, or each as often as its ``own`` things are many), and what follows it."""

    who: str
    head: str
    body: tuple[str, ...]
    before: tuple[str, ...] = ()  # earlier lines of the same block, the block of a ``try``
    after: tuple[str, ...] = ()  # later lines of the same function
    otherwise: tuple[str, ...] = ()  # the block of its ``else``
    function: str = ""  # of which it is the whole body

    @property
    def leaves(self) -> str | None:
        """The line by which the block leaves its loop or function, None where it runs through."""
        return next((line for line in self.body if _LEAVES.match(line)), None)


_LEAVES = regex(r"(?:return|continue|break|raise StopIteration|sys\.exit|exit\(|os\._exit)\b")
_MARKS = regex(r"^(?:[+>|](?: |$)|-(?: {2,}|\t)|\s*\d{1,4}(?: {2,}|\t|: ))")
# Where a line is from, as ``grep`` writes it; and a head with its block on one line, what is between left out.
_PLACE = regex(r"^(?:[\w.-]+/)*[\w-]+\.pyx?[:-](?:\d+[:-])?(?= *\S)")
_SHORTENED = regex(r"^(?P<head>\s*(?:(?:for\b.+?\bin\b|while\b|(?:el)?if\b).+?|else):)\s*\.\.\.\s+(?P<body>\w.*)$")
_HEAD = regex(
    r"(?:el)?if\b(?P<condition>.+?)(?<!lambda):(?P<tail>[^\]\"']*)$|else ?:\s*$|except\b[^:]*:(?P<handled>.*)$|"
    r"(?:for\b.+?\bin\b|while\b)(?P<over>.+):\s*$|@(?P<mark>[\w.]+)"
)
_RANK = (
    r"(?:\b(?:[\w.]{1,60}[._])?(?:rank|RANK|gpu|local_gpu|gpu_id|gpu_idx|process_index|process_id|proc_id|ordinal|"
    r"get_rank|Get_rank|local_rank|LOCAL_RANK|node_rank|replica_id|worker_id|device_id|"
    r"idr)\b(?:\([^()]*\))?(?:\[[^\]]*\])?|environ\W+(?:get\W+)?['\"](?:LOCAL_|GLOBAL_)?RANK['\"][^=<>!]*)\)?"
)
_FLAG = r"\b(?:[\w.]{1,60}[._])?(?:is_(?:\w+_)?(?:main|master|chief|root|primary|zero|coordinator|rank_?0|rank_?zero|first)(?:_\w+)?|(?:on_)?main_process|master_process|is_rank_zero_process|global_zero|should_save|should_log|rank_?zero|main_only|is_logger|local_main_process)\b(?:\([^()]*\))?"
# The rank that is meant; -1 stands for a run without ranks.
_ONE = regex(
    rf"{_RANK} ?(?:==|is|<) ?[\"']?(?:0|1|\d+|MASTER_RANK|dst|src|root|last_rank|\w*world_size ?- ?1)\b|"
    rf"{_RANK} ?in ?[\[({{](?=[^\])}}]*\b0\b)|\b0 ?== ?{_RANK}|\bnot {_RANK}(?! ?(?:in|is)\b)|(?<!not ){_FLAG}"
)
_REST = regex(
    rf"{_RANK} (?:not )?in [A-Za-z_][\w.]*|{_RANK} ?(?:!=|>) ?[\"']?\d|{_RANK} ?not in ?[\[({{](?=[^\])}}]*\b0\b)|"
    rf"\bnot \(?{_FLAG}|\bif {_RANK} ?$|{_RANK} ?% ?\d+ ?[!=]= ?\d"
)
_RANK_MARKS = regex(
    r"(?:\w+\.)*(?:rank_?zero_?only\w*|main_process_only|master_only|on_(?:local_)?main_process|main_only|"
    r"only_(?:on_)?(?:main|master|rank\w*)|(?:run_)?on_(?:rank_?0|main|master)\w*|is_main\w*)$"
)
# Conditions on what a rank has by itself: its data, its clock, its luck; not on numbers that all ranks count alike.
_OWN = regex(
    r"is_?(?:nan|inf|finite)|\bnan\b|is None|is not None|\blen\(|numel\(|\.any\(|\.all\(|\.sum\(|\.item\(|\bempty\b|time\.\w+\(\)|\brandom\b|rand\(|early_?stop\w*|patience|bad_\w+|overflow|skip\w*|\bnot (?:[\w.]*_)?(?:batch|data|samples?|items?|inputs?|outputs?|mask|tokens?|losses|out|results?|features|images?|labels?|requests?|reqs)\b|\b(?:loss|score|reward|metric|acc\w*|auc|num_\w+|n_\w+|\w*count|seq_?len\w*|\w*length) ?[<>=!]=? ?(?:0\b|1\b|best\w*|self\.best\w*|max_\w+|\w*threshold)|valid\b|has_\w+|found\b|finished|done\b|exhausted|StopIteration|\.size\(0\)|\.shape\[",
    re.I,
)


_CODE = regex(
    r"(?:(?:async )?def |class |for .+ in .+:|if .+:|elif .+:|else ?:|try:|except\b.*:|finally:|while .+:|with .+:|"
    r"return\b|import |from \S+ import |raise |assert |@\w|#|[\])}]+,?$|"
    r"[\w.]+(?:\[[^\]]*\])?(?:, ?[\w.]+(?:\[[^\]]*\])?)*,? ?[-+*/]?=(?!=) ?\S|await |yield |"
    r"[\w.\[\]'\"]+\(.*\);?$|[\w.]+\($|\.\.\.$|global |del |pass$|continue$|break$|[\"'].*[\"'],?$)"
)
_FEWEST = 3  # lines; fewer are a quotation in a sentence


def is_code(line: str) -> bool:
    """Whether a line reads like one of a program."""
    return _CODE.match(line.strip()[:_WIDEST]) is not None


def mostly_code(lines: Sequence[str]) -> bool:
    """Whether a text is a piece of a program rather than words about what it does."""
    told = [line for line in lines if line.strip()]
    return len(told) >= _FEWEST and 3 * sum(map(is_code, told)) >= 2 * len(told)


# What a rank may have more or less of than its peers; what all have alike.
_MINE = regex(
    r"pending|local|queue|waiting|finished|done\b|metrics|\.items\(\)|\.keys\(\)|sorted\(|requests?\b|reqs\b|"
    r"buffers?\b|experts?\b|samples\b|seqs?\b|sequences\b|unfinished|remaining|todo|shards?\b|files\b|glob|listdir",
    re.I,
)
_SHARED = regex(
    r"range\((?!len)|world_size|loader|epochs?\b|named_parameters|parameters\(\)|modules\(\)|layers\b|all_\w+|"
    r"groups?\b|state_dict",
    re.I,
)


def code_in(texts: Sequence[str]) -> tuple[Line, ...]:
    """The lines of a text as code: marks of a diff or a listing stay off, blank lines and remarks too."""
    if len(texts) > LONGEST:
        return ()
    return tuple(_joined([line for text in texts for line in _lines_of(text[:_WIDEST])]))


@of_texts
def _lines_of(text: str) -> tuple[Line, ...]:
    """The lines of code in one of a text."""
    told = _parts(_PLACE.sub("", text.rstrip().expandtabs(4)))
    bare = [_MARKS.sub(lambda found: " " * len(found[0]), part) for part in told]
    return tuple(
        Line(len(part) - len(part.lstrip()), part.strip()) for part in bare if part.strip()[:1] not in ("", "#")
    )


def _parts(text: str) -> tuple[str, ...]:
    """A line as it was written, or the two of which somebody made it."""
    found = _SHORTENED.match(text)
    if found is None:
        return (text,)
    return found["head"], " " * (len(text) - len(text.lstrip()) + 4) + found["body"]


_OPENS = regex(r"(?:el)?if\b|while\b|for\b")
_PARTS = 12  # lines of one condition


def _joined(lines: Sequence[Line]) -> Iterator[Line]:
    """Lines of which a condition in brackets that goes over several is one."""
    at = 0
    while at < len(lines):
        text, end = lines[at].text, at + 1
        if _OPENS.match(text):
            while text.count("(") > text.count(")") and end < min(len(lines), at + _PARTS):
                text, end = f"{text} {lines[end].text}", end + 1
            if not text.endswith(":"):
                text, end = lines[at].text, at + 1
        yield Line(lines[at].depth, text[:_WIDEST])
        at = end


def sections(lines: Sequence[Line]) -> Iterator[Section]:
    """Blocks that part of the ranks run, each with its surroundings."""
    for at, line in enumerate(lines):
        found = _HEAD.match(line.text)
        if found is None or not (who := _who(found)):
            continue
        if found["mark"]:
            below = _defined(lines, at)
            marked = _block(lines, below) if below is not None else ()
            name = _DEFINED.match(lines[below].text) if below is not None else None
            yield Section(who, line.text, tuple(_text(marked)), function=name["name"] if name else "")
            continue
        tail = (found["tail"] or found["handled"] or "").split("#")[0].strip()
        body = (tail, *()) if tail else tuple(_text(_block(lines, at)))
        end = at + 1 + (0 if tail else len(body))
        yield Section(
            who,
            line.text,
            body,
            tuple(_text(_above(lines, at))),
            tuple(_text(_rest(lines, end, line.depth))),
            tuple(_text(_else(lines, end, line.depth))),
        )


def _who(found: re.Match[str]) -> str:
    """Which ranks run the section below a line: one, some, the rest, each its own; empty where it does not part them."""
    if found["mark"]:
        return "one" if _RANK_MARKS.match(found["mark"]) else ""
    if found["handled"] is not None:
        return "some"
    if found["over"] is not None:
        return "own" if _MINE.search(found["over"]) and not _SHARED.search(found["over"]) else ""
    condition = found["condition"] or ""
    if _REST.search(f"if {condition.strip()}"):
        return "rest"
    if _ONE.search(condition):
        return "one"
    return "some" if _OWN.search(condition) else ""


def _text(lines: Sequence[Line]) -> Iterator[str]:
    return (line.text for line in lines)


def _block(lines: Sequence[Line], at: int) -> Sequence[Line]:
    """The lines that are set deeper than a head, right below it."""
    end = at + 1
    while end < len(lines) and (lines[end].depth > lines[at].depth or lines[end].text[0] in ")]}"):
        end += 1
    return lines[at + 1 : end]


_DEFINED = regex(r"(?:async )?def (?P<name>\w{1,80})")


def _defined(lines: Sequence[Line], at: int) -> int | None:
    """Where the function begins that a decorator stands above."""
    return next((n for n in range(at + 1, min(at + 4, len(lines))) if _DEFINED.match(lines[n].text)), None)


def _rest(lines: Sequence[Line], end: int, depth: int) -> Sequence[Line]:
    """What follows a block until its function ends; in a loop the loop's first lines follow its last."""
    stop = end
    while stop < len(lines) and not (
        re.match(r"(?:async )?def |class ", lines[stop].text) and lines[stop].depth < depth
    ):
        stop += 1
    return lines[end:stop]


def _else(lines: Sequence[Line], end: int, depth: int) -> Sequence[Line]:
    if end < len(lines) and lines[end].depth == depth and re.match(r"(?:else|elif\b.*) ?:|elif\b", lines[end].text):
        return _block(lines, end)
    return ()


def _above(lines: Sequence[Line], at: int) -> Sequence[Line]:
    """The lines before a head that stand as deep as it or deeper, up to the function's or loop's own head."""
    start = at
    while start > 0 and lines[start - 1].depth >= lines[at].depth:
        start -= 1
    return lines[start:at]
