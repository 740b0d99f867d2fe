"""Of each rank the group in which it waits is told with its members: whether these wait for each other in a circle."""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.pasted_calls import DONE, STARTED, PastedCall, pasted_calls
from ...model.patterns import regex
from ...model.ranks import RankSet
from ._timeouts import timeouts, unfinished

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


# A group beside the list of its members, as configurations of recorders and prints of programs tell it.
_LISTED = regex(
    rf"(?P<name>\b[A-Za-z][\w.-]{{0,60}})['\"]?[,:=)]{{0,2}} {{0,2}}(?:['\"]?\b(?:world_?)?(?:ranks|members)\b['\"]?[:=]? ?)?['\"]?(?P<list>{LIST})"
)
_NO_NAMES = {"ranks", "members", "group", "groups", "pg", "rank"}


def listed_groups(case: Case) -> dict[str, frozenset[int]]:
    """The groups that are told with the lists of their members; of a name that several have, nothing is known."""
    found: dict[str, set[frozenset[int]]] = {}
    for one in accounts(case):
        for listed in _LISTED.finditer(one.said):
            if listed["name"].lower() not in _NO_NAMES:
                found.setdefault(listed["name"], set()).add(_numbers(listed["list"]))
    return {name: next(iter(lists)) for name, lists in found.items() if len(lists) == 1}


def _numbers(text: str) -> frozenset[int]:
    return frozenset(map(int, re.findall(r"\d{1,9}", text)))


# A name that is a kind of group and its members: tp_0_1, dp[1,3].
_NAMES_MEMBERS = regex(r"[A-Za-z]{1,20}(?:[_\W]{1,3}\d{1,6}){2,16}\W{0,2}")


def named_members(group: str) -> frozenset[int]:
    """The members that the name of a group tells, if it does."""
    return _numbers(group) if _NAMES_MEMBERS.fullmatch(group) else frozenset()


def gave_up_in_circle(case: Case) -> list[str] | None:
    """The watchdogs of ranks gave up, each in one group; that it has members who wait in another one closes a circle.

    The members are told in a list, or by the names of the groups, if in all of these the rank itself is one.
    """
    said: dict[int, dict[str, str]] = {}
    for event in (*timeouts(case), *unfinished(case)):
        if event.rank is not None and (name := event.fields.get("pg_desc")):
            said.setdefault(event.rank, {})[str(name)] = event.text
    if len(said) < 2 or any(one.find(_HOLDS) for one in accounts(case)):
        return None
    alone = {rank: next(iter(told.items())) for rank, told in said.items() if len(told) == 1}
    listed = listed_groups(case)
    named = {rank: members for rank, (name, _) in alone.items() if (members := named_members(name))}
    groups = named | {rank: listed[name] for rank, (name, _) in alone.items() if name in listed}
    if len(groups) < len(said) or any(rank not in members for rank, members in groups.items()):
        return None
    lacking = {
        rank: [one for one in members if one in alone and alone[one][0] != alone[rank][0]]
        for rank, members in groups.items()
    }
    return [text for _, (_, text) in sorted(alone.items())[:4]] if _circle(lacking) else None


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
    if len({one.group for one in begun}) < 2 or len(begun) > _MOST_BEGUN:
        return None
    newest = _newest(calls)
    lacking: dict[str, set[str]] = {}
    for mine in begun:
        others = {other.who for other in newest[mine.group].values() if _lacks(mine, other)}
        lacking.setdefault(mine.who, set()).update(others)
    for one, others in _not_begun(begun, newest, listed_groups(case)):
        lacking[one] |= others
    edges = {who: list(others) for who, others in lacking.items() if others}
    if not _circle(edges) or any(one.find(_HOLDS) for one in accounts(case)):
        return None
    return [one.text for one in begun if one.who in edges][:4]


_MOST_BEGUN, _MOST_OF_A_RANK = 2048, 64  # each is compared with all of its group, or with all


def _newest(calls: Iterable[PastedCall]) -> dict[str, dict[str, PastedCall]]:
    """By group and process the call with the highest number."""
    newest: dict[str, dict[str, PastedCall]] = {}
    for one in calls:
        known = newest.setdefault(one.group, {})
        if one.who not in known or known[one.who].seq < one.seq:
            known[one.who] = one
    return newest


def _not_begun(
    begun: list[PastedCall], newest: Mapping[str, Mapping[str, PastedCall]], listed: Mapping[str, frozenset[int]]
) -> Iterator[tuple[str, set[str]]]:
    """Of each call that is begun the members of its group that have begun another one, and of which no call in this group is told."""
    for mine in begun:
        names = _WORD.findall(mine.group)
        members = next((listed[name] for name in names if name in listed), frozenset[int]())
        there = newest[mine.group]
        elsewhere = {one.who for one in begun if one.rank in members and one.who not in there}
        if mine.rank in members and elsewhere:
            yield mine.who, elsewhere


_WORD = regex(r"[\w.-]{1,80}")


def _lacks(mine: PastedCall, newest: PastedCall) -> bool:
    """Whether a call that one process has begun lacks another process of its group, which is behind or has it in its queue.

    Groups of one name may be several, each with its own numbers: where no members are told, only neighbours are believed.
    """
    told = bool(mine.members and _names(newest) & mine.members)
    if newest.who == mine.who or (mine.members and not told):
        return False
    if newest.seq == mine.seq:
        return newest.state not in (STARTED, DONE)
    return newest.seq < mine.seq and newest.state == DONE and (told or newest.seq == mine.seq - 1)


def awaited_elsewhere(case: Case, ranks: RankSet) -> list[str]:
    """Of ranks that have begun a call a call that others have begun and these have not come to, while none of those has begun
    theirs: the rank waits for them, and they for it. What recorders tell of it; empty for none."""
    calls = [one for one in pasted_calls(case) if one.rank is not None]
    for mine in [one for one in calls if one.state == STARTED and one.rank in ranks][:_MOST_OF_A_RANK]:
        there = {one.rank for one in calls if _series(one) == _series(mine) and one.seq >= mine.seq}
        done = {_series(one): one for one in sorted(calls, key=lambda one: one.seq) if one.rank == mine.rank}
        for other in calls:
            before = done.get(_series(other))
            parted = other.state == STARTED and other.rank not in ranks and other.rank not in there
            if parted and before and before.seq == other.seq - 1 and before.state == DONE:
                return [mine.text, before.text, other.text]
    return []


def _series(call: PastedCall) -> tuple[str, str]:
    """Calls that are counted together; where no groups are told, those of one name."""
    return call.group, "" if call.group else call.op


def _names(call: PastedCall) -> set[str]:
    """How a list of members may name a process."""
    return (
        {call.who} if call.rank is None else {str(call.rank), f"rank{call.rank}", f"rank_{call.rank}", f"r{call.rank}"}
    )
