"""Recorders, as people print them in one table or line by line, show other calls of the ranks under one number.

## What it means
Every rank counts the calls of a group. Where two of them made another call under the same number, the wrong calls meet: two of them were made the other way round, or bring other sizes.

## How it is recognised
A table whose head names `rank`, `seq` and `op`, or a line for each rank with `seq=`, the call and its `sizes=`; of Ascend's HCCL the lines `opData information` of a plog. Under one number of one group a rank has the call that the others have under another number, and the others have its call later or
earlier; or the same call has another size or type where all must bring the same (possible only, if no group is named, or if
several of many differ: they may be another group of that name). A rank that lacks a call altogether missed it, and tells nothing here.

## What to do
Look who issues the call that comes at another place: a thread of its own (checkpoint, prefetch, logging) makes its calls when it likes. Give it a group of its own.

## How to prevent it
One thread per group makes all its calls; `TORCH_DISTRIBUTED_DEBUG=DETAIL` in tests. Mechanism: https://docs.pytorch.org/tutorials/unstable/flight_recorder_tutorial.html
"""

# ruff: noqa: E501  (the page)
from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import attrgetter

from ...analysis.accounts import Account, accounts
from ...analysis.case import Case
from ...analysis.pasted_calls import COUNTED, DONE, EQUAL, GAP, GROUP_HEADS, SEQ_HEADS, pasted_calls
from ...model.diagnosis import Finding
from ...model.patterns import regex
from ...model.ranks import RankSet, number_of, ranks_phrase
from .. import make_rule
from ._findings import simple
from ._signs import LIKELY, POSSIBLE

_STEPS = ("torchfrtrace --prefix DUMP_ …   # the recorders themselves", "rankscope analyze DUMPS…")
_COLUMNS = {
    "rank": {"rank"}, "seq": SEQ_HEADS, "op": {"op", "operation", "collective", "profiling_name"},
    "group": GROUP_HEADS, "size": {"in_sizes", "input_sizes", "sizes", "size", "numel", "numel_in"},
}  # fmt: skip


@dataclass(frozen=True)
class _Row:
    rank: int
    group: str
    seq: int
    op: str
    size: str
    text: str
    done: bool = False
    even: bool = False  # all bring as much, whatever the name of the call

    @property
    def call(self) -> tuple[str, str]:
        """What must be the same on all ranks."""
        return self.op, self.size if self.even or EQUAL.search(self.op) else ""


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live or case.collectives:
        return
    for told in (*map(_rows, accounts(case)), _lines(case), _plogs(case)):
        rows = sorted(told, key=lambda row: (row.group, row.seq))
        for _, met in itertools.groupby(rows, key=lambda row: (row.group, row.seq)):
            if (found := _apart(list(met), rows)) is not None:
                yield found
                return


def _lines(case: Case) -> Iterator[_Row]:
    """The entries of recorders that are told line by line."""
    calls = [one for one in pasted_calls(case) if one.rank is not None]
    unsized, untyped = ({(one.group, one.seq) for one in calls if not told(one)} for told in (_size, _kind))
    for one in calls:
        at = one.group, one.seq
        brought = f"{'' if at in unsized else one.size} {'' if at in untyped else one.kind}".strip()
        yield _Row(one.rank or 0, one.group, one.seq, one.op, brought, one.text, one.state == DONE)


_size, _kind = attrgetter("size"), attrgetter("kind")


# What HCCL writes of a task that failed (task_exception_handler.cc): first the tag of the call, then what the rank brought.
_TAG = regex(
    r"\bHCCL\((?P<pid>\d{1,10}),[^\n]*\btag\[(?P<tag>(?:Hcom|Hccl)?(?P<op>[A-Z][A-Za-z]{2,20})_[^\]\n]{1,160})\]"
)
_OP_DATA = regex(
    r"\bHCCL\((?P<pid>\d{1,10}),[^\n]{0,300}\bopData information\b[^\n]{0,300}?\bdeviceId\[(?P<device>\d{1,6})\], index\[(?P<index>\d{1,18})\], (?P<brought>count\[\d{1,20}\], reduceType\[\w{1,20}\])[^\n]{0,300}?(?P<type>dataType\[\w{1,20}\])"
)
_UNEVEN = regex(r"(?i)all_?to_?all|gatherv|scatterv|send|recv|receive")


def _plogs(case: Case) -> Iterator[_Row]:
    """What the ranks brought to the call in which their tasks failed; who tells no tag was in the only call that has one."""
    tags: dict[tuple[str, str], tuple[str, str]] = {}
    for account in accounts(case):
        for event in account.events:
            if found := _TAG.search(event.text):
                tags[account.label, found["pid"]] = found["tag"], found["op"]
    only = next(iter(set(tags.values()))) if len(set(tags.values())) == 1 else None
    for account in accounts(case):
        for event in account.events:
            told = event.event == "text.line" and "opData" in event.text
            found = _OP_DATA.search(event.text) if told else None
            call = tags.get((account.label, found["pid"]), only) if found else None
            if found and call and not _UNEVEN.search(call[1]):
                ranks = tuple(account.ranks)
                rank = event.rank if event.rank is not None else ranks[0] if len(ranks) == 1 else int(found["device"])
                brought = f"{found['brought']}, {found['type']}"
                yield _Row(rank, call[0], int(found["index"]), call[1].lower(), brought, event.text[-250:], even=True)


def _apart(told: list[_Row], rows: list[_Row]) -> Finding | None:
    """Rows of one number in which a call differs from that of the others, if it is the order or the size that differs."""
    # Printed twice, a row is one; and what everybody has behind it went well.
    met = list({(row.rank, row.call): row for row in told}.values())
    if all(row.done for row in met):
        return None
    (usual, many), *others = Counter(row.call for row in met).most_common()
    if not others or len({row.rank for row in met}) < len(met):
        return None
    one, other = next(row for row in met if row.call == usual), next(row for row in met if row.call != usual)
    mine, theirs = (_elsewhere(rows, one, call) for call in (usual, other.call))
    # The odd one has the others' call under another number, and some of them have its call so: each once, for what comes
    # again and again may be shifted by a call that was missed.
    alike = {row.rank for row in met if row.call == usual}
    once = _once(mine) and _once(theirs) and alike.isdisjoint(mine) and alike.issuperset(theirs)
    crossed = once and other.rank in mine and bool(theirs)
    if not crossed and (mine or theirs or one.op != other.op):
        return None
    odd = RankSet(row.rank for row in met if row.call != usual) if 2 * many > len(met) else RankSet()
    how = "in another order" if crossed else "of another size or type"
    who = ranks_phrase(odd) if odd else "ranks"
    meet = f"{one.op} and {other.op} meet" if crossed else f"{one.op} of {one.size} and of {other.size} meet"
    title = f"{who} made calls {how} than the others: {meet} as number {one.seq}"
    # Rows that name no group may be of several, whose numbers run beside each other; and groups of one name may be several.
    sure = crossed or (bool(one.group) and (len(odd) == 1 or len(met) == _PAIR))
    said = simple(RULE, title, LIKELY if sure else POSSIBLE, [one.text, other.text], _STEPS, odd)
    return replace(said, compared=sure)


_PAIR = 2


def _once(ranks: list[int]) -> bool:
    return len(ranks) == len(set(ranks))


def _elsewhere(rows: list[_Row], here: _Row, call: tuple[str, str]) -> list[int]:
    """The ranks that have a call of the group under other numbers, as often as they have it."""
    return [row.rank for row in rows if row.group == here.group and row.call == call and row.seq != here.seq]


def _rows(account: Account) -> Iterator[_Row]:
    """The rows of a table whose head names what is needed."""
    at: dict[str, int] = {}
    for event in account.events:
        cells = [cell.strip() for cell in GAP.split(event.text.strip().strip("|").strip())]
        names = [cell.lower() for cell in cells]
        if "rank" in names:
            at = {what: names.index(name) for what, known in _COLUMNS.items() for name in names if name in known}
        elif {"rank", "seq", "op"} <= at.keys() and len(cells) > max(at.values()):
            told = {what: cells[column] for what, column in at.items()}
            rank = number_of(told["rank"])
            if rank is not None and COUNTED.fullmatch(told["seq"]):
                op = told["op"].rpartition(":")[2].lower()
                yield _Row(rank, told.get("group", ""), int(told["seq"]), op, told.get("size", ""), event.text)


RULE = make_rule(__name__, __doc__, "collective-mismatch", 38, check)
