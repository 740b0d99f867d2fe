"""Of each rank the group in which it waits is told with its members: whether these wait for each other in a circle."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.pasted_calls import DONE, STARTED, PastedCall, pasted_calls
from ...model.patterns import regex

T = TypeVar("T")

CALL = r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|barrier"
LIST = r"[\[({]\s*\d{1,6}(?:\s*[,;]\s*\d{1,6})+\s*[\])}]"
_OWN_GROUP = regex(
    rf"\b(?:group|pg|ranks|members|mesh|comm\w*)\b[^\n\d\[({{]{{0,24}}\d{{0,4}}[^\n\d\[({{]{{0,4}}(?P<list>{LIST})",
    re.I,
)
_OF_RANK = regex(r"^(?:\W{0,3}(?:rank)?[ :=]{0,2})(?P<rank>\d{1,6})\b(?P<said>[^\n]*)", re.I | re.M)


def members_elsewhere(case: Case) -> list[str] | None:
    """Of each rank the group in which it waits is told with its members, and those wait in other groups: in a circle."""
    waits: dict[int, tuple[frozenset[int], str]] = {}
    for one in accounts(case):
        lines = (
            [(next(iter(one.ranks)), one.said)]
            if len(one.ranks) == 1 and one.seen
            else [(int(found["rank"]), found["said"]) for found in _OF_RANK.finditer(one.said)]
        )
        for rank, said in lines:
            found = _OWN_GROUP.search(said)
            members = frozenset(map(int, re.findall(r"\d+", found["list"]))) if found else frozenset[int]()
            if found and rank in members and re.search(CALL + "|send|recv|gather|reduce|new_group", said):
                waits[rank] = members, said.strip().splitlines()[0][:160]
    lacking = {rank: [m for m in group if m in waits and waits[m][0] != group] for rank, (group, _) in waits.items()}
    if len({group for group, _ in waits.values()}) < 2 or not _circle(lacking):
        return None
    return [f"rank {rank}: {said}" for rank, (_, said) in sorted(waits.items())[:4]]


def _circle(edges: Mapping[T, Iterable[T]]) -> bool:
    """Whether somebody waits, over others, for itself."""
    left = {node: set(ends) for node, ends in edges.items()}
    while ends := [node for node, to in left.items() if not to & left.keys()]:
        for node in ends:
            del left[node]
    return bool(left)


# How recorders and RAS write of a call that was made and is not done.
_IN_FLIGHT = regex(
    r"(?<!none )(?<!not )\b(?:started|scheduled|in[- _]?flight|enqueued|launched|running|pending)\b", re.I
)


def in_flight_in_circle(case: Case) -> bool:
    """Whether the calls that devices have in flight, rather than stacks, show that ranks wait for each other in a circle."""
    if case.comparison.cycles:
        return True
    told = members_elsewhere(case)
    return (told is not None and all(map(_IN_FLIGHT.search, told))) or begun_crosswise(case) is not None


# Calls that wait for all that is on the device, whatever group it is of: then the circle is closed by them, not by an order.
_HOLDS = (
    r"\b(?:cuda|cu|hip)\w{0,16}(?:Malloc|Free|Alloc|Load|Unload|Unmap|Destroy|Memcpy)\w{0,16} \(|"
    r"\b(?:empty_cache|release_cached_blocks|_local_scalar_dense|item|tolist|nonzero) \("
)


def begun_crosswise(case: Case) -> list[str] | None:
    """Calls of several groups as recorders tell them, process by process: each that is begun lacks somebody who has begun another
    one, in a circle."""
    calls = [one for one in pasted_calls(case) if one.group]
    begun = [one for one in calls if one.state == STARTED]
    lacking = {one.who: {other.who for mine in begun if mine.who == one.who for other in calls if _lacks(mine, other, calls)}
               for one in begun}  # fmt: skip
    edges = {who: list(others) for who, others in lacking.items() if others}
    if len({one.group for one in begun}) < 2 or not _circle(edges) or any(one.find(_HOLDS) for one in accounts(case)):
        return None
    return [one.text for one in begun if one.who in edges][:4]


def _lacks(mine: PastedCall, other: PastedCall, calls: list[PastedCall]) -> bool:
    """Whether a call that one process has begun lacks another process of its group, which is behind or has it in its queue.

    Groups of one name may be several, each with its own numbers: where no members are told, only neighbours are believed.
    """
    if other.group != mine.group or other.who == mine.who:
        return False
    told = mine.members and _names(other) & mine.members
    newest = max((one for one in calls if one.who == other.who and one.group == mine.group), key=lambda one: one.seq)
    if newest is not other or (mine.members and not told):
        return False
    if newest.seq == mine.seq:
        return newest.state not in (STARTED, DONE)
    return newest.seq < mine.seq and newest.state == DONE and (bool(told) or newest.seq == mine.seq - 1)


def _names(call: PastedCall) -> set[str]:
    """How a list of members may name a process."""
    return (
        {call.who} if call.rank is None else {str(call.rank), f"rank{call.rank}", f"rank_{call.rank}", f"r{call.rank}"}
    )
