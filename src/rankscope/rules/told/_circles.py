"""Of each rank the group in which it waits is told with its members: whether these wait for each other in a circle."""

from __future__ import annotations

import re

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...model.patterns import regex

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


def _circle(edges: dict[int, list[int]]) -> bool:
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
    return told is not None and all(map(_IN_FLIGHT.search, told))
