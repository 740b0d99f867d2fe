"""Entries of recorders that people or scripts print as lines: whose call it is, in which group, its number, what it brings, its state.

``[rank3] pg: tp seq=812 profiling_name=nccl:all_reduce state=started``, with its sizes on the same line or on indented ones
below; also several groups side by side in the line of one process (``tp0  sync(tp0,tp1) seq=9 BROADCAST launched  tp(…) …``), and
tables of ranks without such names, in one column or several (``3: tp 812 nccl:all_reduce started   11: tp 812 …``), or with a column
for each rank. A line may speak of many (``ranks 0-15: last enqueued 812 all_reduce, state=started``).
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..model.evidence.events import Event
from ..model.patterns import regex
from ..model.ranks import number_of
from .account import Account
from .accounts import accounts
from .case import Case
from .remembered import remembered

STARTED, QUEUED, DONE, ABSENT = "started", "queued", "done", "absent"
# Calls in which all bring as much; a gather of lists may be uneven.
EQUAL = regex(r"all_?reduce|broadcast|all_?gather_?(?:base|into)|reduce_?scatter_?(?:base|tensor)|into_tensor")

# Tables of calls: what stands between two cells, how their columns are called, and a number.
GAP = regex(r" {2,}|\t|\s*\|\s*")
SEQ_HEADS = frozenset({"seq", "seq_id", "collective_seq_id", "seqnum"})
GROUP_HEADS = frozenset({"pg", "group", "pg_id", "pg_name", "process_group"})
COUNTED = regex(r"[0-9]{1,18}")


@dataclass(frozen=True)
class PastedCall:
    """One call of one process, as far as its lines tell."""

    who: str
    rank: int | None
    group: str
    members: frozenset[str]
    seq: int
    op: str
    size: str
    kind: str  # of its elements
    state: str
    text: str


@remembered
def pasted_calls(case: Case) -> tuple[PastedCall, ...]:
    """All such entries of saved evidence, each once."""
    if case.snapshot.live:
        return ()
    told = accounts(case)
    for read in (_entries, _columns, _rows):
        found = (call for account in told for call in read(account))
        if calls := tuple(dict.fromkeys(itertools.islice(found, _MOST))):
            return calls
    return ()


# Between a name and what it is; as Python and JSON write dictionaries, the name stands in quotes.
_IS = r"['\"]? ?[=:]? ?"
_SEQ = r"\b(?:(?:collective_?)?seq(?:_?(?:id|num|no))?|last (?:enqueued|started|launched))\b['\"]? ?[=:#]? ?(?P<seq>\d{1,18})\b"
_NAME = r"[A-Za-z][\w.:-]{0,40}"
# A group before the number of its call; its members may stand behind its name.
_OF_GROUP = regex(
    rf"(?:\b(?:pg|pg_name|pg_id|group|process_group|comm)\b ?[=:]? ?)?(?P<group>{_NAME}|\d{{1,9}}|\('[^)\n]{{1,80}}'\))"
    rf"(?P<members>\([^()\n]{{1,400}}\))?[,:]? {{1,4}}{_SEQ}",
    re.IGNORECASE,
)
_HAS_SEQ = regex(_SEQ, re.IGNORECASE)
_GROUP = regex(
    rf"\b(?:pg|pg_name|pg_id|process_group|group)\b{_IS}(?P<group>(?:\(|\[(?=['\"]))?['\"]?[\w.-]{{1,40}}['\"]?(?:, ?['\"][^'\"\n]{{1,60}}['\"][)\]])?)",
    re.IGNORECASE,
)
# Behind the rank a name and the number of a call in it.
_LEADING = regex(
    rf"(?P<group>(?!(?:nccl:)?_?(?:all|reduce|broadcast|barrier|send|recv)|last\b){_NAME}) {{1,20}}{_SEQ}",
    re.IGNORECASE,
)
_OP = regex(
    r"(?<![A-Za-z0-9])(?P<op>_?(?:all_?reduce|all_?gather|reduce_?scatter|broadcast|all_?to_?all|barrier|(?:gather|scatter|reduce|send|recv)(?![A-Za-z]))\w{0,30})",
    re.IGNORECASE,
)
_SIZE = regex(
    rf"\b(?:in(?:put)?_)?(?:sizes?|numel(?:_in)?)\b{_IS}(?P<size>\[\[[\d, \[\]]{{0,200}}\]|\[[\d, ]{{1,80}}\]|\d{{1,18}}\b)",
    re.IGNORECASE,
)
_KIND = regex(
    rf"\b(?:input_)?d(?:ata)?_?types?\b{_IS}\[?['\"]?(?P<named>\w{{1,20}})|\b(?P<bare>BFloat16|Float8\w{{0,20}}|Float|Half|Double|Long|Int|Byte|Char)\b"
)
_STATES = (
    (ABSENT, r"not (?:yet )?(?:enqueued|scheduled|started|launched|issued|called|posted)|never (?:called|issued|launched)"),
    (DONE, r"completed?|done|finished|retired"),
    (QUEUED, r"scheduled|enqueued|queued|pending"),
    (STARTED, r"started|launched|running|in[- ]flight"),
)  # fmt: skip
_STATE = regex("|".join(rf"(?P<{name}>\b(?:{words})\b)" for name, words in _STATES), re.IGNORECASE)
# A cell of a table of ranks: which one, its group, and its last call, by number and name or the other way round.
_CALL = r"(?:nccl:)?_?(?:all_?reduce|all_?gather|reduce_?scatter|broadcast|all_?to_?all|barrier)\w{0,30}"
_CELL = regex(
    rf"(?:^|[ \t|]{{2,}}|\|)(?:rank ?)?(?P<rank>\d{{1,7}})(?: ?[:|,]|[ \t])[ \t]{{0,12}}"
    rf"(?:(?P<group>(?!step\b|epoch\b|it(?:er)?\b){_NAME}|\d{{1,9}})[ \t|,]{{1,12}})?"
    rf"(?:(?P<seq>\d{{1,18}})[ \t|,]{{1,12}}(?P<op>{_CALL})|(?P<op2>{_CALL})[ \t|,]{{1,12}}(?P<seq2>\d{{1,18}}))"
    rf"(?:[ \t|,]{{1,12}}(?P<size>\[{{1,2}}[\d, \[\]]{{1,200}}\]))?[ \t|,]{{1,12}}"
    r"(?P<state>not started|scheduled|enqueued|started|launched|completed)\b",
    re.IGNORECASE,
)
_RANK = regex(
    r"^\W{0,3}r(?:anks?)?[ _:=#-]{0,2}(?P<rank>\d{1,7})(?:\.\.|-| to )?(?P<to>(?<=[-. o])\d{1,7})?\b(?P<rest>.*)",
    re.IGNORECASE,
)
_MOST_IN_A_LINE, _MOST = 4096, 1 << 17  # ranks of which one line speaks; calls
_OTHER = regex(rf"^(?P<who>{_NAME})\W{{1,8}}(?=\S)(?P<rest>.*)")
# What watchdogs print is read as events of its own.
_WATCHDOG = regex(r"WorkNCCL|[Ww]atchdog|ProcessGroup\w*\.cpp")
_LONGEST = 1000
_BELOW = 6  # indented lines of one entry


def _entries(account: Account) -> Iterator[PastedCall]:
    lines = [event for event in account.events if event.event == "text.line"]
    for at, event in enumerate(lines):
        text = event.text.strip()[:_LONGEST]
        said = text.lower()
        if not ("seq" in said or "last " in said) or not _HAS_SEQ.search(text) or _WATCHDOG.search(text):
            continue  # the first is the quickest, and most lines of a log end there
        first, last, who, rest = _speaker(event, text)
        for call in _calls(first, who, rest, lines, at) if who else ():
            yield call
            for rank in range((first or 0) + 1, min(last, (first or 0) + _MOST_IN_A_LINE) + 1):
                yield replace(call, rank=rank, who=f"rank {rank}")


def _calls(rank: int | None, who: str, rest: str, lines: list[Event], at: int) -> Iterator[PastedCall]:
    """The calls of one line: one, or one for each group that it names."""
    heads = list(_OF_GROUP.finditer(rest))
    if len(heads) < 2:
        yield from _call(rank, who, rest + _below(lines, at), heads[0] if heads else None)
        return
    ends = [*(head.start() for head in heads[1:]), len(rest)]
    for head, end in zip(heads, ends):
        yield from _call(rank, who, rest[head.start() : end], head)


def _rows(account: Account) -> Iterator[PastedCall]:
    """The cells of a table of ranks, if it has several."""
    cells = [
        (event, cell)
        for event in account.events
        if event.event == "text.line" and event.text.lstrip(" |")[:1].lower() in _DIGITS_OR_RANK
        for cell in _CELL.finditer(event.text[:_LONGEST].strip())
    ]
    if len({cell["rank"] for _, cell in cells}) < 2:
        return
    for _, cell in cells:
        rank, state = number_of(cell["rank"]), _STATE.search(cell["state"])
        yield PastedCall(
            f"rank {rank}", rank, cell["group"] or "", frozenset(), int(cell["seq"] or cell["seq2"]),
            (cell["op"] or cell["op2"]).lower().removeprefix("nccl:").strip("_"), re.sub(r"\s", "", cell["size"] or ""), "",
            (state.lastgroup or "") if state else "", cell.group().strip(" |\t"),
        )  # fmt: skip


_DIGITS_OR_RANK = frozenset("0123456789r")


def _speaker(event: Event, text: str) -> tuple[int | None, int, str, str]:
    """The rank, or the first and the last one of several, or the name that a line begins with, and what it says."""
    if (found := _RANK.match(text)) and (first := number_of(found["rank"])) is not None:
        last = number_of(found["to"]) if found["to"] else None
        return first, last or first, f"rank {first}", found["rest"].strip(" :|\t]),")
    if event.rank is not None:
        return event.rank, event.rank, f"rank {event.rank}", text
    named = _OTHER.match(text)
    # Whoever bears no rank is known by the groups that follow its name at once.
    if named and _OF_GROUP.match(named["rest"]):
        return None, 0, named["who"], named["rest"]
    return None, 0, "", text


def _columns(account: Account) -> Iterator[PastedCall]:
    """The cells of tables with a column for each rank."""
    ranks: dict[int, int] = {}
    seq = group = -1
    for event in account.events:
        if event.event != "text.line" or not (ranks or "rank" in event.text.lower()):
            continue
        cells = GAP.split(event.text[:_LONGEST].strip(" |\t"))
        heads = {at: int(found[1]) for at, cell in enumerate(cells) if (found := _RANK_HEAD.fullmatch(cell))}
        if len(heads) > 1:
            names = [cell.lower() for cell in cells]
            seq, group = (
                next((at for at, name in enumerate(names) if name in known), -1) for known in (SEQ_HEADS, GROUP_HEADS)
            )
            ranks = heads if seq >= 0 else {}
        elif ranks and len(cells) > max(ranks) and COUNTED.fullmatch(cells[seq]):
            of = f"group={cells[group]} " if group >= 0 else ""
            for at, rank in ranks.items():
                sized = _IN_CELL.sub(r" size=\g<0>", cells[at], count=1)
                yield from _call(rank, f"rank {rank}", f"{of}seq={cells[seq]} {sized}", None)


_RANK_HEAD = regex(r"rank[ _]?(\d{1,7})", re.IGNORECASE)
_IN_CELL = regex(r"\[\[?[\d, \[\]]{1,200}\]")


def _below(lines: list[Event], at: int) -> str:
    """The indented lines below an entry, which tell more of it."""
    told, here = "", lines[at]
    for event in lines[at + 1 : at + 1 + _BELOW]:
        indented = event.text[:1].isspace() and event.file == here.file and event.rank in (None, here.rank)
        if not indented or _HAS_SEQ.search(event.text):
            break
        told += " " + event.text.strip()[:_LONGEST]
    return told


def _call(rank: int | None, who: str, said: str, head: re.Match[str] | None) -> Iterator[PastedCall]:
    seq, op, size = _HAS_SEQ.search(said), _OP.search(said), _SIZE.search(said)
    # In "last enqueued 812 …, state=started" the number comes first.
    state = (_STATE.search(said, seq.end()) if seq else None) or _STATE.search(said)
    if seq is None or op is None or not (state or size):
        return
    group = _GROUP.search(said) or _LEADING.match(said)
    kind = _KIND.search(said)
    named = head["members"] if head is not None else None
    yield PastedCall(
        who, rank,
        (group["group"] if group else head["group"] if head is not None and named else "").strip("([' \""),
        frozenset(re.findall(r"[\w.-]*\d[\w.-]*", named or "")),
        int(seq["seq"]), op["op"].strip("_").lower(),
        re.sub(r"\s", "", size["size"]) if size else "",
        (kind["named"] or kind["bare"]).lower() if kind else "",
        state.lastgroup or "" if state else "",
        f"{who}: {said}"[:300],
    )  # fmt: skip
