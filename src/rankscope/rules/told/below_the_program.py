"""Every member issued the same call and none finished: network, device or library.

## What it means
The program is in order: all ranks stand in the same collective. What does not work is below it, and the program's stacks cannot say what.

## How it is recognised
Equal stacks on all ranks in one collective, not in the meeting before it (or equal time-outs with the same sequence number, operation and size from every rank), and nobody elsewhere; also stacks of all ranks that `uniq -c` counted,
or recorders of which somebody says that the newest entry of every rank is the same and in flight, or whose entries, pasted line by line, show one call (number, operation, size) that every rank from 0 on
has started and none has done.
What is not shown of some ranks, NCCL's RAS tells: a communicator of all of them that is `RUNNING` and `OK` lacks nobody, and all have begun as many calls.
Of a running job: every rank of it was seen, all have stood in one collective at one place for longer than `--stuck-after`, and no thread below them is at work. Without a recorder that is *possible* at most.
A container that denies a system call by which processes share buffers; a launch that does not return. The library's own benchmark (`all_reduce_perf`) that prints its head and no row.

## What to do
Ask below: `ncclras`, `NCCL_DEBUG=INFO`, counters of the cards, `dmesg`, native stacks of one rank. Then halve: one node, two nodes, `NCCL_P2P_DISABLE=1`,
`NCCL_IB_DISABLE=1`, `NCCL_SHM_DISABLE=1`, `all_reduce_perf` on the same hosts.

## How to prevent it
A test of all pairs of hosts before the run (`all_reduce_perf` of nccl-tests).
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.devices import has_device
from ...analysis.doings import doings, size
from ...analysis.frame_tables import WaitKind
from ...analysis.own_age import youngest_s
from ...analysis.pasted_calls import DONE, STARTED, PastedCall, pasted_calls
from ...analysis.standing import Standing
from ...analysis.stillness import held_together, in_one_call
from ...model.diagnosis import Finding, Kind, Reason
from ...model.patterns import regex
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import span
from .. import make_rule
from .._say import at, stands
from ._findings import finding, simple
from ._signs import LIKELY, POSSIBLE, Sign, hits
from ._timeouts import in_several_groups, timeouts
from ._together import standing_together
from ._wordings import HALTS, halted

_TITLE = "every rank stands in the same call, and what is wrong lies below it"
_STEPS = (
    "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET torchrun …",
    "all_reduce_perf -b 8 -e 1G -f 2   # on the same hosts",
    "ncclras   # NCCL 2.24 and later",
)
_ALL = r"\b(?:every|each|all)(?: of the)? (?:\d{1,6} )?(?:ranks?|process(?:es)?|workers?|replicas?)\b"
_PRINTS = r"(?:prints?|printed|logs?|logged|writes?|wrote|shows?|reach(?:es|ed)?|gets? to|comes? to)\b"
_MEETING = r"\b\w*(?:all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|barrier|rendezvous|psum|mesh_reduce|collective)\w*"
# What tells by itself that something does not go on.
_TOLD = (
    Sign(rf"{_ALL}[^\n]{{0,16}}\b{_PRINTS}[^\n]{{0,100}}\b(?:no(?: other)? (?:rank|process|worker|replica)|none(?: of (?:them|the \w+))?|not one|nobody)\b[^\n]{{0,24}}\b{_PRINTS}", "all ranks come to a call, and none gets past it", anywhere=(_MEETING,), unless=(r"\b(?:if|elif) [^\n]{0,40}\brank\b[^\n]{0,12}[=!]=|Watchdog caught|out of memory",), prose=True),
    # A container's filter of system calls: processes of one host cannot hand each other the handles of their buffers.
    Sign(r"\bpidfd\b[^\n]{0,24}\b(?:not supported|not permitted|unsupported|denied|failed)\b|\b(?:pidfd_(?:open|getfd)|process_vm_(?:readv|writev))\b[^\n]{0,60}(?:Operation not permitted|\bEPERM\b|Function not implemented|\bENOSYS\b|Permission denied|= -1)", "the container denies a system call with which processes of one host give each other their buffers", anywhere=(HALTS + r"|for ever",)),
    Sign(r"\b(?:cu|cuda|hip)(?:\w*Launch\w*)\b[^\n]{0,20}\b(?:never|does(?:n't| not)|do(?:n't| not)|did(?:n't| not)|no longer) (?:return|come back|end)\w*", "a launch does not return: the queue of the device is full behind a call that does not end", anywhere=(r"all_?reduce|all_?gather|reduce_?scatter|NCCL|collective",), unless=(r"CUDA_LAUNCH_BLOCKING",), prose=True),
    # A communicator is set up in part by its first call; what a pause between the two cures is a race of the library's own.
    Sign(r"\b(?:sleep|pause|delay)\w*\b[^\n]{0,40}\b(?:between|after|before)\b[^\n]{0,40}\b(?:(?:nccl|rccl|hccl)?CommInit\w*|init_process_group|communicators?|new_group)\b", "it works when time passes between the making of a communicator and its first call: its set-up races", cures=True),
    Sign(r"(?:\B--?np?\b|\bnproc\w*|\bworld[_ -]size|\bone (?:process|rank|GPU|worker)|\ba single (?:process|rank|GPU|worker))[ =]*1?\b[^\n]{0,16}\b(?:trains|works|runs|passes|is fine)\b[^\n]{0,24}\b(?:every|any|all|each|with)\b (?:\w+ )?(?:larger|higher|other|bigger|more|greater)\b[^\n]{0,24}\b(?:stops?|hangs?|stands?|stalls?|blocks?|freez\w+|nothing)\b", "one process gets on, several do not", POSSIBLE, prose=True),
)  # fmt: skip
_SIGNS = (
    # nccl-tests and its like: what all ranks do is the library's own benchmark, and no line of its table came.
    Sign(r"^#\s+\(B\)\s+\(elements\)[^\n]*(?!\n[^\n]*\n?\s*\d+\s+\d+\s+(?:float|half|bfloat16|int\d|uint\d|double|fp8)\w*)", "the library's own benchmark prints no line of its table", anywhere=(HALTS,), unless=(r"^\s*\d+\s+\d+\s+(?:float|half|bfloat16|int\d|uint\d|double)\w*\s", r"Avg bus bandwidth")),
    # How people and scripts condense recorders: the entry that is in flight is everybody's.
    Sign(r"\b(?:state|status)\b\W{0,4}(?:started|scheduled|in[- ]flight)\b[^\n]{0,24}\b(?:on|for|of|by) (?:all|every|each) (?:\d+ )?(?:ranks?|gpus?|processes|workers)\b|\b(?:newest|latest|last|top|head) entry (?:on|of|for) (?:all|every|each) (?:\d+ )?ranks?\b[^\n]*\b(?:state|status)\b\W{0,4}(?:started|scheduled|in[- ]flight)\b", "the recorders of all ranks show the same call in flight", unless=(r"\b(?:except|but|other than|apart from|all (?:ranks )?but) (?:for )?(?:rank|one|on)\b",)),
    Sign(r"\b(?:all|every|each|both) (?:\d+ )?(?:the )?(?:ranks?|gpus?|processes|workers|nodes)\b[^\n]{0,60}(?:same|identical|equal)[^\n]{0,40}(?:stack|place|collective|call|line|op|all_?reduce|barrier|forward|backward|decode|kernel|step|batch|request|function|SeqNum|sequence (?:number|id)|seq\b|work id)", "all ranks are in the same place", prose=True),
    Sign(r"\b(?:all|every|both) (?:\d+ )?(?:the )?(?:ranks?|gpus?|processes|workers)\b[^\n]{0,60}(?:stuck|hang|block|wait|spin|stop|in)\w*[^\n]{0,30}(?:all_?reduce|all_?gather|broadcast|barrier|reduce_?scatter|all_?to_?all|ncclAllReduce|first collective)", "all ranks are in the same collective", POSSIBLE, prose=True),
)  # fmt: skip


_ONE_PICTURE = "one picture does not tell whether they stand there or just come by"
_LOOKS_ALIKE = "in stacks, calls of groups with other members, or of another step, look the same"


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live:
        yield from _held(case)
        return
    if in_several_groups(case):
        return
    if not halted(case):
        if told := list(hits(case, _TOLD)):
            yield finding(RULE, case, told, _TITLE, _STEPS)
        return
    if started := _started_by_all(case):
        one = started[0]
        title = f"all {len(started)} ranks have started {one.op} number {one.seq}, and none has done it"
        complains = any(account.find(HALTS, prose=True) for account in accounts(case))
        because = [call.text for call in started[:4]]
        made = simple(RULE, title, LIKELY, because, _STEPS, against=() if complains else (_ONE_PICTURE,))
        yield replace(made, compared=True)
        return
    together = standing_together(case)
    if together:
        title = f"all {sum(map(size, together))} ranks that were seen stand in the same {together[0].op}"
        complains = any(account.find(HALTS, prose=True) for account in accounts(case))
        against = (_LOOKS_ALIKE,) if complains else (_LOOKS_ALIKE, _ONE_PICTURE)
        ranks = RankSet(rank for doing in together for rank in doing.ranks)
        unseen = RankSet(range(max(ranks, default=-1) + 1)) - ranks
        counted = _counted_alike(case, len(unseen | ranks)) if unseen else None
        if counted is not None:
            title = f"{ranks_phrase(ranks)} stand in the same {together[0].op}, and all ranks have begun as many calls"
        elif unseen:
            title = (
                f"{ranks_phrase(ranks)} stand in the same {together[0].op}; of {ranks_phrase(unseen)} nothing is shown"
            )
        sure = complains if counted is not None else not unseen
        because = [together[0].site, *filter(None, [counted])]
        yield simple(RULE, title, LIKELY if sure else POSSIBLE, because, _STEPS, against=against)
        return
    gave_up = {
        event.rank: tuple(event.fields.get(name) for name in ("seq", "op", "numel_in", "pg_desc"))
        for event in timeouts(case)
        if event.rank is not None
    }
    if len(gave_up) > 1 and len(set(gave_up.values())) == 1 and set(gave_up) == set(range(len(gave_up))):
        seq, op, *_ = next(iter(gave_up.values()))
        yield simple(
            RULE,
            f"all {len(gave_up)} ranks timed out in the same {op} #{seq}",
            LIKELY,
            ["every rank reports the same operation and number"],
            _STEPS,
        )
        return
    signs = list(hits(case, _TOLD if _at_the_meeting(case) else (*_TOLD, *_SIGNS)))
    if signs:
        yield finding(RULE, case, signs, _TITLE, _STEPS)


# A row of the table of NCCL's RAS: how many ranks a communicator has, what they do, and what is wrong with them.
_RAS_ROW = regex(
    r"^\s*\d{1,9} +\d{1,9} +\d{1,9} +\d{1,9} +(?P<size>\d{1,9}) +\d{1,9} +(?P<status>[A-Z]+(?:,[A-Z]+)*) +(?P<errors>[A-Z]+)",
    re.M,
)


def _counted_alike(case: Case, ranks: int) -> str | None:
    """A row of a report of RAS by which a communicator of all ranks lacks none, where no other row tells of any that differ."""
    rows = [row for account in accounts(case) for row in _RAS_ROW.finditer(account.said)]
    well = all((row["status"], row["errors"]) == ("RUNNING", "OK") for row in rows)
    return next((row.group().strip() for row in rows if well and int(row["size"]) >= ranks), None)


def _started_by_all(case: Case) -> list[PastedCall]:
    """The one call that the recorders of all ranks show as begun on the device and not done, if there is nothing else open."""
    calls = [one for one in pasted_calls(case) if one.rank is not None and one.state != DONE]
    ranks = RankSet(one.rank for one in calls if one.rank is not None)
    named = RankSet(one.rank for one in pasted_calls(case) if one.rank is not None) | RankSet(case.ranks)
    whole = len(ranks) > 1 and ranks == RankSet(range(max(ranks) + 1)) and not named - ranks
    if not whole or len(calls) > len(ranks) or (case.world_size or 0) > len(ranks):
        return []
    alike = {(one.group, one.seq, one.op, one.size, one.kind, one.state) for one in calls}
    later = any(
        one.state == DONE and one.seq >= calls[0].seq for one in pasted_calls(case) if one.group == calls[0].group
    )
    return calls if len(alike) == 1 and calls[0].state == STARTED and not later else []


def _held(case: Case) -> Iterator[Finding]:
    """All ranks of a running job in one call: who is to blame, if anybody, is not among them as far as stacks can tell."""
    ranks = in_one_call(case) if held_together(case) else ()
    if not ranks:
        return
    age, first = span(youngest_s(ranks)), ranks[0]
    yield Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=POSSIBLE,
        title=f"all {len(ranks)} ranks stand in {first.wait.op} at {at(first.user_frame)} for {age}: look below the program",
        processes=tuple(one.member.process for one in ranks[:_NAMED]),
        because=(Reason(f"nobody has moved for {age}, and no rank is missing from the call", "python-stack"),
                 *map(stands, ranks[:_NAMED])),
        against=("without a recorder nothing tells that it is the same call for all: one rank may be a call ahead of the others",),
        next=("rankscope stacks --native", *(_OF_HOSTS if _without_devices(case, ranks) else reversed(_STEPS))),
    )  # fmt: skip


_NAMED = 3
# Where no process has a device open, the collectives go from host to host (gloo, MPI).
_OF_HOSTS = (
    "ss -tnpi   # on each host: connections that do not get on",
    "TORCH_DISTRIBUTED_DEBUG=DETAIL TORCH_CPP_LOG_LEVEL=INFO   # in the next run",
)


def _without_devices(case: Case, ranks: Iterable[Standing]) -> bool:
    """Whether the descriptors of all of them are known, and none of a device is among them."""
    return case.snapshot.live and all(has_device(one.member) is False for one in ranks)


def _at_the_meeting(case: Case) -> bool:
    """Whether those whose stacks were seen stand before their first call, in the meeting: there words of one place mean that."""
    seen = [
        doing
        for doing in doings(case)
        if doing.account and doing.account.seen and doing.kind not in ("unknown", WaitKind.IDLE.value)
    ]
    return bool(seen) and all(doing.kind == WaitKind.RENDEZVOUS.value for doing in seen)


RULE = make_rule(
    __name__, __doc__, "stuck-below-program", 90, check, yields_to=("splits-do-not-meet", "fewer-devices-visible")
)
