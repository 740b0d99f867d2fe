"""Rows of recorders, as people print them in one table, show other calls of the ranks under one number.

## What it means
Every rank counts the calls of a group. Where two of them made another call under the same number, the wrong calls meet: two of them were made the other way round, or bring other sizes.

## How it is recognised
A table whose head names `rank`, `seq` and `op`. Under one number of one group a rank has the call that the others have under another number, and the others have its call later or
earlier; or the same call has another size where all must bring the same (possible only, if no group is named). A rank that lacks a call altogether missed it, and tells nothing here.

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

from ...analysis.accounts import Account, accounts
from ...analysis.case import Case
from ...model.diagnosis import Finding
from ...model.patterns import regex
from ...model.ranks import RankSet, number_of, ranks_phrase
from .. import make_rule
from ._findings import simple
from ._signs import LIKELY, POSSIBLE

_STEPS = ("torchfrtrace --prefix DUMP_ …   # the recorders themselves", "rankscope analyze DUMPS…")
_GAP = regex(r" {2,}|\t|\s*\|\s*")
_COLUMNS = {
    "rank": {"rank"}, "seq": {"seq", "seq_id", "collective_seq_id", "seqnum"}, "op": {"op", "operation", "collective", "profiling_name"},
    "group": {"pg", "group", "pg_id", "pg_name", "process_group"}, "size": {"in_sizes", "input_sizes", "sizes", "size", "numel", "numel_in"},
}  # fmt: skip
_COUNTED = regex(r"[0-9]{1,18}")
# Calls in which all bring as much; a gather may be uneven.
_EQUAL = regex(r"all_?reduce|broadcast|allgather_base|reduce_scatter_base|into_tensor")


@dataclass(frozen=True)
class _Row:
    rank: int
    group: str
    seq: int
    op: str
    size: str
    text: str

    @property
    def call(self) -> tuple[str, str]:
        """What must be the same on all ranks."""
        return self.op, self.size if _EQUAL.search(self.op) else ""


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live or case.collectives:
        return
    for account in accounts(case):
        rows = sorted(_rows(account), key=lambda row: (row.group, row.seq))
        for _, met in itertools.groupby(rows, key=lambda row: (row.group, row.seq)):
            if (found := _apart(list(met), rows)) is not None:
                yield found
                return


def _apart(met: list[_Row], rows: list[_Row]) -> Finding | None:
    """Rows of one number in which a call differs from that of the others, if it is the order or the size that differs."""
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
    how = "in another order" if crossed else "of another size"
    who = ranks_phrase(odd) if odd else "ranks"
    title = f"{who} made calls {how} than the others: {one.op} and {other.op} meet as number {one.seq}"
    # Rows that name no group may be of several, whose numbers run beside each other.
    sure = crossed or bool(one.group)
    said = simple(RULE, title, LIKELY if sure else POSSIBLE, [one.text, other.text], _STEPS, odd)
    return replace(said, compared=sure)


def _once(ranks: list[int]) -> bool:
    return len(ranks) == len(set(ranks))


def _elsewhere(rows: list[_Row], here: _Row, call: tuple[str, str]) -> list[int]:
    """The ranks that have a call of the group under other numbers, as often as they have it."""
    return [row.rank for row in rows if row.group == here.group and row.call == call and row.seq != here.seq]


def _rows(account: Account) -> Iterator[_Row]:
    """The rows of a table whose head names what is needed."""
    at: dict[str, int] = {}
    for event in account.events:
        cells = [cell.strip() for cell in _GAP.split(event.text.strip().strip("|").strip())]
        names = [cell.lower() for cell in cells]
        if "rank" in names:
            at = {what: names.index(name) for what, known in _COLUMNS.items() for name in names if name in known}
        elif {"rank", "seq", "op"} <= at.keys() and len(cells) > max(at.values()):
            told = {what: cells[column] for what, column in at.items()}
            rank = number_of(told["rank"])
            if rank is not None and _COUNTED.fullmatch(told["seq"]):
                op = told["op"].rpartition(":")[2].lower()
                yield _Row(rank, told.get("group", ""), int(told["seq"]), op, told.get("size", ""), event.text)


RULE = make_rule(__name__, __doc__, "collective-mismatch", 38, check)
