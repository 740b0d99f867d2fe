"""Who is meant by a label such as ``ranks 0-3,7``, ``TP1_stack`` or ``rank 0, DataLoader worker (pid 26346)``."""

# ruff: noqa: E501  (a pattern or a row of a table is one line)
from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field

from .patterns import regex
from .process import Role
from .ranks import MOST_IN_A_JOB, RankSet

_NUMBER = r"\d{1,7}"
_RANKS = regex(
    rf"(?:world[ _-]?|global[ _-]?)?ranks[ _:=#-]*(?P<list>{_NUMBER}(?: ?(?:(?:-|,|&|/|to|and|–|\.{{2,3}}) ?){{1,4}}{_NUMBER}(?![ \d]*(?:minutes?|seconds?|hours?|min|ms|s)\b))*)",
    re.I,
)
_RANK = regex(
    rf"(?<![a-z])(?:world[ _-]?|global[ _-]?)?rank[ _:=#-]*(?P<list>{_NUMBER}(?:\.\.+{_NUMBER}|"
    rf"(?:, ?{_NUMBER}(?![\d:.]| ?\d| ?(?:min|sec|hour|of|ms|s\b))){{2,}}(?: ?(?:and|&) ?{_NUMBER})?|"
    rf"(?:, ?{_NUMBER})*,? (?:and|&) {_NUMBER}(?![\d:.]| ?(?:min|sec|hour|of|ms|s\b|other|more))|"
    rf"(?:[/ ]{_NUMBER}(?![\d:.]| ?(?:min|sec|hour|of|ms)))*))(?!\d)",
    re.I,
)
_PARALLEL = regex(r"(?<![A-Za-z])(?P<kind>TP|DP|PP|EP|CP|SP)[ _-]?(?:rank[ _-]?)?(?P<number>\d{1,5})(?!\d)")
_SPAN = regex(r"(?<![A-Za-z])(?:TP|DP|PP|EP|CP|SP)[ _-]?(\d{1,5})-(?:TP|DP|PP|EP|CP|SP)?(\d{1,5})(?!\d)")
# Engines of vLLM, each of which is one rank of data parallelism where there are several; a lone one drives ranks of its own.
_ENGINE = regex(r"\bEngineCores?[ _-]?(?P<first>\d{1,5})(?:-(?P<last>\d{1,5}))?(?!\d)", re.I)
_COUNT = regex(
    r"(?:^|[ _(])(?P<count>\d{1,6}|two|three|four|five|six|seven|eight|all|both|every|each|other|several|some) (?:(?:one )?of (?:the|them) ?)?(?:other |remaining )?(?:(?:TP|DP|PP|EP|local|global) )?(?:ranks?|workers?|processes|gpus)\b",
    re.I,
)
_PID = regex(r"\bpid[ _=:]*(\d{1,10})", re.I)
_LATER = regex(
    r"\b(?:(?:second|2nd)(?! (?:worker|thread|process|rank|node|child|host|run|job|task|reader|writer|consumer|"
    r"producer|gpu|machine|server|client|program|script))|later|again|after|another sample|"
    r"(?<!waits )(?<!waiting )(?<!stuck )(?<!since )\d+ minutes(?! (?:without|of)\b)|(?<!\d )minutes|next sample|t1|"
    r"sample[ _-]?[2-9])\b",
    re.I,
)
_WORDS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "both": 2}
# Of these nobody says how many they are, only that they are several.
_SEVERAL = {"all", "every", "each", "other", "several", "some"}

_ROLES = (
    (Role.DATALOADER_WORKER, r"data ?loader[ _-]?worker|loader[ _-]worker|data[ _-]worker|worker.*data ?loader"),
    (Role.COMPILE_WORKER, r"compile[ _-]?(?:worker|helper|sidecar)|inductor worker"),
    (Role.CHECKPOINT_WRITER, r"checkpoint (?:writer|process)"),
    (Role.LAUNCHER, r"launcher|torchrun|elastic agent|mpirun|srun"),
)

# The time of day in brackets at the end, as a file's name has it: ``rank_0_11_20_``.
_CLOCK = regex(r"_{1,2}(?=(?:[01]\d|2[0-3])_[0-5]\d(?:_[0-5]\d)?_$)")
# A step or batch that a log counts, with its number.
STEP = regex(
    r"\b(?:global[_ ]?step|step|iteration|iter|it|batch)(?:\W{0,3}| {4,12})(\d{1,9})\b|\b(\d{1,3})%\|"
    r"|^(?:\[[^\]\n]{1,20}\](?:<std(?:out|err)>)?: ?)?\s*(\d{1,6})/\d{1,6} \[[=>.]"
    r"|\bepoch:? ?\[?\d+\]? ?\[ *(\d{1,9})/\d+[\] ]"
    # Work that is dealt out in pieces: what is numbered by ranks, nodes, shards or attempts is no such thing.
    r"|\b(?:job|task|item|sample|trial|frame|chunk|file|image|document|episode|round|simulation|case)s? (\d{1,9})/\d{1,9}\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Who:
    """What a label says; ``count`` is how many ranks it speaks of when it names none.

    ``beyond`` tells that it lists ranks as no job has them, too many or too large; nobody is meant then.
    """

    ranks: RankSet = field(default_factory=RankSet)
    pid: int | None = None
    role: Role | None = None
    count: int | None = None
    later: bool = False
    thread: bool = False  # it speaks of one thread of a process
    text: str = ""
    beyond: bool = False


def who(label: str) -> Who:
    """Read a label; underscores count as blanks, because file names have no others."""
    text = re.sub(r"_+", " ", label).strip()
    timeless = re.sub(r"_+", " ", _CLOCK.sub(" at ", label))
    listed = [_listed(match["list"]) for pattern in (_RANKS, _RANK) for match in pattern.finditer(timeless)]
    ranks = functools.reduce(RankSet.__or__, filter(None, listed), RankSet()) or _places(text) or _engines(text)
    beyond = not ranks and None in listed
    pid, role = _PID.search(text), None
    for candidate, words in _ROLES:
        if re.search(words, text, re.I):
            role = candidate
            break
    return Who(
        ranks, int(pid.group(1)) if pid else None, role, None if ranks else _count(text), bool(_LATER.search(text)),
        bool(re.search(r"\bthread\b", text, re.I)), text, beyond,
    )  # fmt: skip


def _places(text: str) -> RankSet:
    """Places in a group, of tensor parallelism say, which are ranks only where no other group is named."""
    kinds: dict[str, set[int]] = {}
    for match in _PARALLEL.finditer(text):
        kinds.setdefault(match["kind"], set()).add(int(match["number"]))
    for span in _SPAN.finditer(text):
        low, high = int(span.group(1)), int(span.group(2))
        if low <= high:
            kinds.setdefault(text[span.start() : span.start() + 2], set()).update(range(low, high + 1))
    return RankSet(next(iter(kinds.values()))) if len(kinds) == 1 else RankSet()


def _engines(text: str) -> RankSet:
    """Numbers of engines; where a label names only the first one, nobody knows whether there are more."""
    found = RankSet()
    for match in _ENGINE.finditer(text):
        first, last = int(match["first"]), int(match["last"] or match["first"])
        if first <= last < first + MOST_IN_A_JOB:
            found |= RankSet(range(first, last + 1))
    return found if any(found) else RankSet()


def _listed(text: str) -> RankSet | None:
    folded = re.sub(r"\s*(?:to|–|-|\.\.+)\s*", "-", text)
    folded = re.sub(r"\s*(?:,|&|/|and|\s)+\s*", ",", folded)
    try:
        found = RankSet.parse(folded)
    except ValueError:
        return None
    return found if len(found) <= MOST_IN_A_JOB else None


_EACH_OF = regex(r"\b(?:all|both) (?P<count>\d{1,6}|two|three|four|five|six|seven|eight)\b", re.I)


_THEM = r"(?:stacks?|dumps?|traces?|backtraces?|ranks?|processes|workers|gpus)"
_N_OF_N = regex(
    rf"\b{_THEM}\b\W{{1,3}}(?P<count>\d{{1,6}}) (?:out )?of (?P=count)\b|\b(?P<of>\d{{1,6}}) (?:out )?of (?P=of) {_THEM}\b",
    re.I,
)


def of_each(label: str) -> bool:
    """Whether a label speaks of all that there are."""
    text = re.sub(r"_+", " ", label)
    return re.search(r"\b(?:all|every|each|both)\b", text, re.I) is not None or _N_OF_N.search(text) is not None


def _count(text: str) -> int | None:
    if (whole := _N_OF_N.search(text)) is not None:
        return int(whole["count"] or whole["of"])
    found = _COUNT.search(text) or _EACH_OF.search(text)
    if found is None:
        return None
    word = found["count"].lower()
    return int(word) if word.isdigit() else 2 if word in _SEVERAL else _WORDS.get(word)


def stem(name: str) -> str:
    """A file's name without folders and endings, as a label; the order number in front stays off."""
    base = name.rsplit("/", 1)[-1]
    for ending in (".gz", ".txt", ".log", ".json", ".out", ".err", ".dump"):
        base = base.removesuffix(ending)
    return re.sub(r"^\d{2}_(?=\D)", "", base)
