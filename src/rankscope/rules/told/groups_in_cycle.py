"""Ranks wait for each other in a cycle over groups; nobody is simply absent.

## What it means
Some ranks entered group A first and then B, others B first and then A. Each group is half full, and everybody waits for somebody who waits.

## How it is recognised
Ranks stand in collectives of different groups; the recorder shows (A, n) joined by one side and (B, m) by the other; a report says that each waits for the
other. The members of the groups are told (`TP groups: [0,1] [2,3]`), and in each group the ranks of one place lack those of the other; lines or a table of each
process's last calls in each group (`sync(a0,t0,t1) seq=9 launched  tp(t0,t1) seq=70 done`) show that what one has begun lacks another, which has begun what lacks the first; or every rank's watchdog
gave up, one part of them in one group and the rest in another, or each in a group whose other members (by its name or a list) gave up elsewhere. Or the code of two calls names different groups, a rank is in both in two threads, and each lacks a rank that is in the other and
whose other thread waits. Or several threads or streams of a process use several communicators at once, and the devices run kernels of different ones.
At most possible: some ranks are in an epoch of one-sided access (`MPI_Win_unlock`) and others in a call of all; the ranks stand in one call under two functions, like the squares of a chessboard on a mesh, so that no row and no column is whole.

## What to do
One global order of groups (`rankscope analyze DUMPS…` prints the cycle); no rank-local choice of which group goes first; groups with own streams only
where they cannot wait for each other.

## How to prevent it
Issue collectives of all groups from one thread in the order of the program.
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.doings import Doing, doings, of_ranks
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import wait_of
from ...model.diagnosis import Finding
from ...model.evidence.events import Event
from ...model.patterns import regex
from .. import make_rule
from ._circles import CALL, LIST, begun_crosswise, gave_up_in_circle, members_elsewhere, named_members
from ._findings import finding, simple
from ._signs import LIKELY, POSSIBLE, Sign, hits
from ._threads_calling import calls_at_once, crosswise, said_apart
from ._timeouts import timeouts
from ._wordings import HALTS

_NAMES = (
    r"(?:TP|DP|PP|EP|CP|SP|tensor|data|pipeline|expert|context|mesh_\w+|dp\w*|tp\w*|ep\w*|pp\w*|intra|inter|row|"
    r"col(?:umn)?|default_pg|replicate|shard)"
)
# Two branches of the code: a collective and then a message in one, the other end of the message and then the collective in the other.
_WHOLE = rf"^[^\n]*\b(?:{CALL}|reduce|gather|scatter)\w*\([^\n]*\n"
_MESSAGE = r"^[^\n]*\bi?%s\([^\n]*\n"
_ELSE = r"(?:[^\n]*\n){0,3}?^[ \t]*(?:else|elif)\b[^\n]*\n"
_BRANCHES = "|".join(
    first + _ELSE + second
    for one, other in ((_MESSAGE % "send", _MESSAGE % "recv"), (_MESSAGE % "recv", _MESSAGE % "send"))
    for first, second in ((_WHOLE + one, other + _WHOLE), (one + _WHOLE, _WHOLE + other))
)
_SIGNS = (
    Sign(r"\bNCCL_LAUNCH_ORDER_IMPLICIT\b", "one order of launches for all communicators cures it", cures=True),
    Sign(r"\bgroup (\w+)\b[^\n]{0,160}\bgroup (?!\1\b)\w+\b[^\n]{0,160}\b(?:needs?|waits? for|requires?)\b|\bgroup (\w+) (?:needs?|waits? for)[^\n]{0,160}\bgroup (?!\2\b)\w+ (?:needs?|waits? for)", "two groups need each other's members"),
    Sign(r"\b(?:communicator|comm|group|pg)s? ?[#:]?((?!is\b|are\b)\w+)\b[^\n]{0,120}\b(?:communicator|comm|group|pg)s? ?[#:]?(?!\1\b)(\w+)\b[^\n]{0,120}(?:\n[^\n]{0,200}){0,4}?\n[^\n]{0,120}\b(?:communicator|comm|group|pg)s? ?[#:]?\2\b[^\n]{0,120}\b(?:communicator|comm|group|pg)s? ?[#:]?\1\b", "the ranks use the groups in opposite orders", prose=True),
    Sign(rf"\b(?:{CALL}) (?:of|on|over|in) (?:the )?(\w+)\b[^\n]{{0,120}}\b(?:{CALL}) (?:of|on|over|in) (?:the )?(?!\1\b)(\w+)\b(?:\n[^\n]{{0,200}}){{0,4}}?\n[^\n]{{0,120}}\b(?:{CALL}) (?:of|on|over|in) (?:the )?\2\b[^\n]{{0,120}}\b(?:{CALL}) (?:of|on|over|in) (?:the )?\1\b", "the ranks use the groups in opposite orders", prose=True),
    Sign(r"\b\w+[ _](?:group|pg|comm)\b[^\n]{0,30}\b(?:contains?|includes?|needs?)\b[^\n]{0,20}\branks? ?\d", "each group has members that stand in the other", prose=True),
    Sign(r"\b(\w+) (?:has not|hasn't|did not|didn't|never) (?:called|entered|issued|joined|launched|posted) [^\n;]{0,60}(?:[;,\n]|\band\b)[^\n;]{0,80}?\b(?!\1\b)(\w+\d) (?:has not|hasn't|did not|didn't|never) (?:called|entered|issued|joined|launched|posted)\b", "each side lacks a call that the other has made", anywhere=(r"\b(?:groups?|comm\w*|pgs?)\b",), prose=True),
    Sign(_BRANCHES, "one branch calls a collective before its send, the other receives before the collective", anywhere=(HALTS,)),
    Sign(r"circular(?:ly)? (?:wait|dependency|deadlock)|cyclic wait|wait(?:s|ing)? (?:for each other )?in a (?:cycle|circle|ring)|deadlock cycle|each (?:group|side|half) (?:is )?wait\w*", "the evidence itself speaks of a cycle", anywhere=(r"\b(?:tp|dp|pp|ep|rank)s?\b|group|pg\b|communicator|comm\b|collective|all_?reduce|all_?gather",), prose=True),
    Sign(rf"\b{_NAMES}[ _-]?(?:group|pg|comm\w*)\b[^\n]*(?:all_?\w+|reduce\w*|broadcast|barrier|collective)", "ranks stand in different groups", LIKELY, anywhere=(r"(?:half|other (?:group|order|half)|other way (?:a)?round|vice versa|opposite order|different order|inverse order|before the other|first the|order of (?:the )?groups?|interleav\w+)",)),
    Sign(r"\bgroups?\b[^\n]{0,80}(?:opposite|different|inverse|reverse) order|(?:opposite|different|inverse|reverse|inconsistent|swapped)\b[^\n]{0,30}order[^\n]{0,60}(?:groups?|communicators?|comms?|process groups?|collectives on)|two (?:process groups|communicators)[^\n]{0,80}(?:order|interleav|deadlock|concurrent)", "groups are used in different orders", prose=True),
    Sign(r"\b(?:before|first|ahead of)\b[^\n]{0,80}(?:the other way (?:a)?round|vice versa|the reverse|opposite)", "the ranks take turns in different orders", anywhere=(r"groups?\b|communicators?|all_?reduce|all_?gather|collective|sync_\w+",), prose=True),
    Sign(r"\b(?:two|several|multiple|different|separate|both|another|second|\d+)\b (?:(?!and\b|of\b)\w+ )?(?:communicators?|comms?|process groups?|groups|ProcessGroups?|ncclComm\w*)\b(?! streams?\b)", "several communicators are used at once",
         anywhere=(r"concurrent\w*|simultaneous\w*|at (?:the same time|once)|in parallel|overlap\w*|(?:own|different|separate|one|two|multiple|each|both)\b[^\n]{0,30}\b(?:threads?|streams?)|interleav\w+|side stream", HALTS + r"|\bworks (?:with|when|if)\b"),
         unless=(r"\bCommAbort|destroy_process_group|Xid|out of memory",), prose=True),
    Sign(r"\b(?:runs?|launched|executes?|in|holds?|resident)\b[^\n]{0,30}(?:kernel|collective|all_?reduce)[^\n]{0,30}(?:communicator|comm|group|pg) ?(?!of\b|s\b)\w+[^\n]{0,60}(?:,|;|while|and)[^\n]{0,60}(?:communicator|comm|group|pg) ?(?!of\b|s\b)\w+", "devices run kernels of different communicators", anywhere=(HALTS,), prose=True),
    Sign(r"multiple (?:communicators|process groups)[^\n]{0,60}(?:concurrent|deadlock|same time)|collectives on (?:two|different|multiple) (?:communicators|groups)[^\n]{0,60}(?:concurrent|deadlock|overlap)", "several groups are used at once", POSSIBLE, prose=True),
)  # fmt: skip

_TITLE = "ranks wait for each other in a cycle over groups"
_STEPS = ("rankscope analyze DUMPS…   # prints the cycle", "issue the groups in one global order")


def check(case: Case) -> Iterator[Finding]:
    if not case.snapshot.live and (told := _crosswise(case)) is not None:
        yield simple(RULE, _TITLE, LIKELY, told, _STEPS)
        return
    if (told := _compared(case)) is not None:
        yield replace(simple(RULE, _TITLE, LIKELY, told, _STEPS), compared=True)
        return
    if (told := _across_a_mesh(case)) is not None:
        yield replace(simple(RULE, _TITLE, POSSIBLE, told, _STEPS, against=_MAY_BE_MISSED), compared=True)
        return
    found = list(hits(case, _SIGNS))
    if found:
        yield finding(RULE, case, found, _TITLE, _STEPS)
    elif not case.snapshot.live and (told := _epoch_against_call(case)) is not None:
        title = "one-sided access of some ranks waits for others, which stand in a call that these do not make"
        yield replace(simple(RULE, title, POSSIBLE, told, _STEPS, against=_MAY_GET_ON), compared=True)


# MPI-3.1, section 11.7: an epoch may end only when its target makes progress in MPI, which one in a call of all may not do for it.
_EPOCH = r"\bP?MPI_Win_(?:un)?(?:lock|flush)\w*(?: ?\(|\b)"
_CALL_OF_ALL = r"(?<![\w.])(?:P?MPI_I?)?(?:bcast|barrier|all_?reduce|all_?gatherv?|reduce|gatherv?|scatterv?|all_?to_?all\w?)\w? ?\("
_MAY_GET_ON = ("a library with progress of its own ends the epoch all the same",)


def _epoch_against_call(case: Case) -> list[str] | None:
    """Some ranks in an epoch of one-sided access, and others in a call of all."""
    told = accounts(case)
    inside = [line for one in told if (line := one.find(_EPOCH))]
    beside = [line for one in told if not one.find(_EPOCH) and (line := one.find(_CALL_OF_ALL))]
    return [inside[0], beside[0]] if inside and beside else None


_MAY_BE_MISSED = ("their groups are not shown: if all call in one group, one half has gone another way",)


def _across_a_mesh(case: Case) -> list[str] | None:
    """The ranks stand in two places of one call, like the squares of a chessboard: so do those of a mesh that enter its rows and
    columns in opposite orders, and every group lacks somebody.

    A condition on a rank's number or its node parts them along rows or columns, and one of these would get on.
    """
    where = {} if case.snapshot.live or case.collectives else _stood(case)
    places = {one.site for one in where.values()}
    calls = {(one.kind, one.op) for one in where.values()}
    if len(places) != 2 or len(calls) != 1 or sorted(where) != list(range(len(where))):
        return None
    if not any(kind == WaitKind.COLLECTIVE.value for kind, _ in calls):
        return None
    if not any(_chequered(where, width) for width in _widths(len(where))):
        return None
    return [f"rank {rank}: {one.site}" for rank, one in sorted(where.items())[:4]]


def _widths(count: int) -> Iterator[int]:
    """The even widths of meshes of so many ranks, with two rows or more: along odd ones a chessboard is but odd and even ranks."""
    return (width for width in range(2, count // 2 + 1, 2) if count % width == 0)


def _chequered(where: dict[int, Doing], width: int) -> bool:
    """Whether the ranks of a mesh stand where all others of the same colour stand."""
    black = {one.site for rank, one in where.items() if (rank // width + rank) % 2 == 0}
    white = {one.site for rank, one in where.items() if (rank // width + rank) % 2}
    return len(black) == len(white) == 1


def _compared(case: Case) -> list[str] | None:
    """Why the places of the ranks, beside the members of their groups, are those of a circle."""
    if case.snapshot.live or case.collectives:
        return None  # there the graph and the recorders tell
    judges = (
        _half_full, _gave_up_apart, gave_up_in_circle, members_elsewhere, begun_crosswise, _of_other_kinds, _told_of_kinds, _threads_of_groups,
    )  # fmt: skip
    return next((told for judge in judges if (told := judge(case)) is not None), None)


def _threads_of_groups(case: Case) -> list[str] | None:
    """Two threads of a rank are in collectives at once, and their groups are said, or shown by code, to be different ones."""
    if not said_apart(case):
        return crosswise(case)
    calling = next((found for one in accounts(case) if (found := calls_at_once(one))), {})
    return [f"{name}: {wait_of(seen.stack).op}" for name, seen in list(calling.items())[:4]] or None


_NAME = regex(
    r"\b[A-Za-z]\w*[_-]\w+\b|\b[A-Za-z]+\d\w*\b|\b(?:group|comm|communicator|pg|mesh|stream) \w+\b|\b[A-Z]\b", re.I
)
_SHORT = 400


def _crosswise(case: Case) -> list[str] | None:
    """Two subjects of whom the same is told with two names in exchanged places: one holds the first and waits for the second."""
    told = [
        " ".join(one.said.split()) for one in accounts(case) if one.said and len(one.said) < _SHORT and not one.stacks
    ]
    for texts in _of_the_same_words(text for text in told if _WAITS.search(text)):
        for mine, yours in itertools.combinations(texts, 2):
            names = dict.fromkeys(found.group() for found in _NAME.finditer(mine))
            if any(_exchanged(mine, *pair) == yours for pair in itertools.combinations(names, 2)):
                return [mine, yours]
    return None


def _of_the_same_words(texts: Iterable[str]) -> Iterable[list[str]]:
    """Different texts together whose words are the same in another order; of a thousand ranks few pairs are left to compare."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for text in dict.fromkeys(texts):
        alike.setdefault(tuple(sorted(re.findall(r"\w+", text))), []).append(text)
    return alike.values()


_WAITS = regex(r"\b(?:waits?|waiting|queued|blocked|pending|behind|needs?|next|then|before|holds?|not yet)\b", re.I)


def _exchanged(text: str, first: str, second: str) -> str:
    return re.sub(
        rf"\b(?:{re.escape(first)}|{re.escape(second)})\b", lambda found: second if found[0] == first else first, text
    )


_WAITING = (WaitKind.COLLECTIVE.value, WaitKind.BACKWARD.value, WaitKind.P2P.value, WaitKind.DEVICE.value)
_LISTS = regex(rf"{LIST}(?:\s*(?:,|;|and|\||/)?\s*{LIST})+")


def _partitions(case: Case) -> list[frozenset[frozenset[int]]]:
    """What is told of groups: lists of ranks side by side in which no rank is twice, ``[0,1] [2,3]``."""
    found: dict[frozenset[frozenset[int]], None] = {}
    for one in accounts(case):
        for lists in _LISTS.finditer(one.said):
            groups = [frozenset(map(int, re.findall(r"\d+", text))) for text in re.findall(LIST, lists.group())]
            if sum(map(len, groups)) == len(frozenset().union(*groups)):
                found[frozenset(groups)] = None
    return list(found)


def _stood(case: Case) -> dict[int, Doing]:
    """Where each rank waits, if each that is shown waits somewhere."""
    told = [one for one in doings(case) if one.account is not None and one.account.seen and of_ranks(one)]
    if any(one.kind not in _WAITING for one in told):
        return {}
    return {rank: one for one in told for rank in one.ranks}


def _half_full(case: Case) -> list[str] | None:
    """Ranks in two places, and groups of which each has members in both: each place is one of groups that are never full."""
    where = _stood(case)
    places = list(dict.fromkeys(one.site for one in where.values()))
    if len(places) != 2 or len(parted := _partitions(case)) < 2:
        return None
    for pair in itertools.permutations(parted, 2):
        if all(_lacks_some(where, place, groups) for place, groups in zip(places, pair)):
            return [f"rank {rank}: {one.site}" for rank, one in sorted(where.items())[:4]]
    return None


def _lacks_some(where: dict[int, Doing], place: str, groups: frozenset[frozenset[int]]) -> bool:
    """Whether every group with members in a place also has members elsewhere, of whom all are known."""
    here = {rank for rank, one in where.items() if one.site == place}
    return all(group <= set(where) and not group <= here for group in groups if group & here)


def _gave_up_apart(case: Case) -> list[str] | None:
    """Every rank's watchdog gave up, each in one group; the groups are of two kinds, with several ranks in each, and none is the world."""
    where: dict[int, Event] = {}
    for event in timeouts(case):
        if event.rank is not None:
            where.setdefault(event.rank, event)
    kinds: dict[object, list[int]] = {}
    for rank, event in where.items():
        kinds.setdefault(event.fields.get("pg_desc"), []).append(rank)
    all_there = sorted(where) == list(range(len(where)))
    if not all_there or len(kinds) != 2 or kinds.keys() & {None, "default_pg", "undefined"}:
        return None
    if len(where) > 2 and min(map(len, kinds.values())) < 2:
        return None
    if all(named_members(str(name)) == set(ranks) for name, ranks in kinds.items()):
        return None  # each group is full
    return [event.text for _, event in sorted(where.items())[:4]]


# Frames of libraries that tell for which kind of group a call is made.
_TENSOR = regex(r"tensor_parallel|sequence_parallel|/tensor/parallel/|model_parallel_all_reduce")
_DATA = regex(
    r"megatron/core/(?:distributed|optimizer)/|torch/nn/parallel/distributed|/fsdp/|runtime/zero/|_fsdp_|data_parallel"
)


def _of_other_kinds(case: Case) -> list[str] | None:
    """All ranks wait, some of them in calls of tensor parallelism and as many in calls of data parallelism."""
    where = _stood(case)
    if len(where) < 4 or sorted(where) != list(range(len(where))):
        return None
    sides = {rank: _side(one) for rank, one in where.items()}
    if set(sides.values()) != {"tensor", "data"} or len({one.site for one in where.values()}) != 2:
        return None
    if min(list(sides.values()).count(side) for side in ("tensor", "data")) < 2:
        return None
    return [f"rank {rank}: {one.site}" for rank, one in sorted(where.items())[:4]]


_KIND_OF_GROUP = regex(
    r"\b(?P<kind>tensor|data|pipeline|expert|context|sequence|model|TP|DP|PP|EP|CP|FSDP)\b[- ]?(?:model[- ])?(?:parallel\w*)?[- ]?(?:group|communicator|pg|mesh)",
    re.I,
)


def _told_of_kinds(case: Case) -> list[str] | None:
    """All ranks are said to wait, some in a call of one kind of group and as many in a call of another kind."""
    told = [one for one in doings(case) if one.ranks and one.account is not None and not one.account.seen]
    waiting = [one for one in told if one.kind in _WAITING]
    sides: dict[str, list[int]] = {}
    for one in waiting:
        found = _KIND_OF_GROUP.search(one.text)
        if found is None:
            return None
        sides.setdefault(found["kind"].lower(), []).extend(one.ranks)
    ranks = sorted(rank for some in sides.values() for rank in some)
    if (
        len(waiting) < len(told)
        or len(sides) != 2
        or min(map(len, sides.values())) < 2
        or ranks != list(range(len(ranks)))
    ):
        return None
    return [one.text[:160] for one in waiting]


def _side(doing: Doing) -> str:
    files = " ".join(frame.file for seen in doing.account.seen for frame in seen.stack) if doing.account else ""
    return "tensor" if _TENSOR.search(files) else "data" if _DATA.search(files) else ""


RULE = make_rule(__name__, __doc__, "collective-cycle", 43, check)
