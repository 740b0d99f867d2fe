"""Who says that it has come: the lines in which ranks of a world announce themselves.

Lightning's ``GLOBAL_RANK: 1, MEMBER: 2/4``, fairseq's ``distributed init (rank 1)``, prints of a rank beside the world's size.
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ...analysis.accounts import Account, outlived
from ...analysis.case import Case
from ...analysis.remembered import remembered
from ...model.evidence.events import Event
from ...model.patterns import regex
from ...model.ranks import RankSet
from ...model.repeated import found_in

_SAYS = regex(
    r"\bGLOBAL_RANK: (?P<rank>\d+), MEMBER: \d+/(?P<world>\d+)|\b(?:global[ _]?|world[ _]?)?rank[ =:]{1,2}(?P<rank_>\d+)(?: of | ?/ ?|,? (?:and )?world[ _]size[ =:]{1,2})(?P<world_>\d+)\b|"
    r"\bRANK[=:] ?(?P<rank__>\d+)\b[^\n]{0,80}\bWORLD_SIZE[=:] ?(?P<world__>\d+)|"
    r"distributed init \(rank (?P<rank___>\d+)\)[^\n]*(?:world_size|gpus?)[ =:]+(?P<world___>\d+)",
    re.I,
)
# What a controller lists of those that it started (Ray Train: `world_rank=4, local_rank=0, node_rank=1`); one rank alone may announce the world.
_LISTED = regex(r"\bworld_rank[=:] ?(?P<rank>\d{1,6}), local_rank[=:]")
_MOST = 1 << 16


@dataclass(frozen=True)
class Announced:
    """How often each rank of one world announced itself, who never did and said nothing else, and the last such line."""

    world: int
    times: Counter[int]
    absent: RankSet
    last: Event


def announced(case: Case, account: Account) -> Iterator[Announced]:
    """The worlds that a subject's lines tell of; what came before steps is of a run that got on."""
    said: dict[int, Counter[int]] = {}
    last: dict[int, Event] = {}
    there: set[int] = set()
    for event in {(one.file, one.line): one for one in account.events}.values():
        if "worker_count" in event.text or not (found_in(event.text, _LISTED) or found_in(event.text, _SAYS)):
            continue  # it counts who came to its meeting point, also of other runs
        if (listed := _LISTED.search(event.text)) is not None:
            there.add(int(listed["rank"]))
        if (found := _SAYS.search(event.text)) is None or outlived(case, event):
            continue
        rank, world = (int(text) for text in found.groups() if text is not None)
        if rank < world < _MOST:
            said.setdefault(world, Counter())[rank] += 1
            last[world] = event
    for world, times in said.items():
        absent = RankSet(range(world)) - RankSet(times) - _speakers(case) - RankSet(there)
        yield Announced(world, times, absent, last[world])


@remembered
def _speakers(case: Case) -> RankSet:
    """Every rank of whom a line is."""
    return RankSet(event.rank for event in case.events if event.rank is not None)
