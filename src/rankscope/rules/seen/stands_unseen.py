"""A process that others wait for stands still, and only the kernel could be asked about it.

## What it means
The stacks of the job's processes may not be read here (another user's job, Yama's `ptrace_scope` 1, a container). What /proc
shows all the same says who waits for whom, and in what kind of wait the last one sleeps: on the clock, for a terminal, on a
pipe, a lock or a thread of its own. In which line of the program it stands is not known.

## How it is recognised
The chain of waits ends in a process whose main thread has slept through both looks, for longer than `--stuck-after`. The chain
is read from the holders of pipes and connections, from children and file locks; from one rank that sleeps in another kind of
wait than all others; and from the moments at which the threads of gloo ran last. Where all threads of the process sleep in
locks and it shares none with others, nobody outside can wake it. A thread that asks for the GIL in vain wakes every 5 ms.

## What to do
Look again with the right to read its stack: `sudo -E rankscope diagnose`, as the job's user, from a shell that is an ancestor
of the job, or with `kernel.yama.ptrace_scope=0`. py-spy, gdb and strace ask the kernel the same question and are refused as well.
`rankscope explain ptrace` has each case. A stack that may be read but has an unknown layout is one for another reader: `rankscope
stacks --engine py-spy`, or `--native`.

## How to prevent it
`prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY)` in the job lets the same user look; `faulthandler.register(SIGUSR1)` lets it print
its own stacks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ...analysis.awaited import hidden
from ...analysis.case import Case, Root
from ...analysis.in_sight import minded, serves_idly, unclear
from ...analysis.standing import Standing
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.outsiders import Outsiders
from ...model.process import ProcessRef, Role
from ...model.ranks import RankSet
from ...model.words import span
from .. import make_rule
from .._death import ended
from .._outside import process_of
from .._say import name, old_roots, ranks_of, waited_for, who
from ._unseen import Reading, fallen, last_left, lost_child, pauses, read, unread, way_in


def check(case: Case) -> Iterator[Finding]:
    for root, standing in old_roots(case):
        if standing.thread is not None or not hidden(standing.member) or standing.member.role is Role.HELPER:
            continue
        if not case.stuck(root.age_s) or serves_idly(case, root):
            continue
        reading = read(case, standing) or lost_child(case, standing) if root.waiters else last_left(case, standing)
        if reading is not None and not (reading.cls == RULE.cls and root.waiters and minded(case, root)):
            yield _finding(case, root, standing, reading)
        elif root.waiters and pauses(standing):
            yield _note(case, root, standing)
    yield from _beside(case)
    yield from _bereaved(case)


def _finding(case: Case, root: Root, standing: Standing, reading: Reading) -> Finding:
    ref = standing.member.ref
    return Finding(
        rule=RULE.id, cls=reading.cls, kind=Kind.CAUSE, certainty=reading.certainty,
        title=f"{who(standing.member.process)} {reading.doing}" + ("; others wait for it" if root.waiters else ""),
        ranks=ranks_of(standing), processes=(standing.member.process, *reading.others),
        because=(Reason(f"its main thread has slept in {_channel(standing)} for {span(standing.still_s)}", "kernel", ref),
                 *(Reason(text, "kernel", ref) for text in reading.because), *_edges(case, root), *waited_for(root)),
        against=(_why_unseen(case, ref),),
        next=way_in(case, ref),
    )  # fmt: skip


def _note(case: Case, root: Root, standing: Standing) -> Finding:
    """One that wakes now and then: it may work in small pieces, or ask for something in vain."""
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.NOTE, certainty=Certainty.POSSIBLE,
        title=f"others wait for {who(standing.member.process)}, which sleeps, wakes and sleeps again: whether it gets on or asks "
              "in vain only its stack could tell",
        ranks=ranks_of(standing), processes=(standing.member.process,), because=tuple(waited_for(root)),
        next=way_in(case, standing.member.ref),
    )  # fmt: skip


def _why_unseen(case: Case, ref: ProcessRef) -> str:
    gap = unread(case, ref)
    why = f"could not be read ({gap.detail or gap.why.value})" if gap is not None else "may not be read here"
    return f"its stack {why}: the kind of wait is the kernel's word, the place in the program is not known"


def _channel(standing: Standing) -> str:
    return standing.kernel.wchan if standing.kernel and standing.kernel.wchan else "the kernel"


def _edges(case: Case, root: Root) -> Iterator[Reason]:
    """The last steps of the chain, those that wait for the same in one sentence."""
    last: dict[str, list[ProcessRef]] = {}
    for wait in case.graph.to(root.ref):
        last.setdefault(wait.why, []).append(wait.waiter)
    for why, waiters in list(last.items())[:3]:
        many = f" and {len(waiters) - 1} more wait" if len(waiters) > 1 else " waits"
        yield Reason(f"{name(case, waiters[0])}{many} for {why}", "wait-for graph", waiters[0])


def _beside(case: Case) -> Iterator[Finding]:
    """The one process of the job that may be waiting for a program beside it, and that everybody else waits for."""
    for root in case.graph.roots:
        if root.ref in case.standings or not case.stuck(root.age_s):
            continue
        waits = case.graph.to(root.ref)
        asking = case.standings.get(waits[0].waiter) if len(waits) == 1 else None
        if asking is not None and len(root.waiters) > 1 and asking.thread is None and hidden(asking.member):
            yield _of_outsider(case, root, asking)


def _bereaved(case: Case) -> Iterator[Finding]:
    """One that stands still since a child of it was killed, and waits for another process, which only ticks."""
    for root, at_end in old_roots(case):
        for ref in root.waiters if unclear(at_end) else ():
            standing = case.standings[ref]
            child = fallen(case, standing.member)
            if child is not None and child.process.parent == ref.pid and standing.member.role is not Role.LAUNCHER:
                text = f"{who(child.process)} {ended(child)}"
                found = Reading.possible("child-dead", "stands still, and a child of it has failed", text)
                others = tuple(one for one in root.waiters if one != ref)
                yield _finding(case, Root(ref, others, _ranks(case, others), root.age_s), standing,
                               dataclasses.replace(found, others=(child.process,)))  # fmt: skip


def _of_outsider(case: Case, root: Root, standing: Standing) -> Finding:
    others = tuple(ref for ref in root.waiters if ref != standing.member.ref)
    found = standing.member.latest(Outsiders)
    peer = next((one for one in found.found if one.pid == root.ref.pid), None) if found else None
    whom = f"pid {root.ref.pid}" + (f" ({peer.comm})" if peer else "")
    whole = _finding(case, Root(root.ref, others, _ranks(case, others), root.age_s), standing,
                     Reading.possible(RULE.cls, f"waits for an answer of {whom}, no part of this job"))  # fmt: skip
    if peer is None or peer.state not in ("T", "t"):
        return whole
    word = Reason(f"the kernel shows state {peer.state} for {whom}", "kernel", root.ref)
    return dataclasses.replace(
        whole, cls="process-stopped", title=f"{whole.title}: it is stopped", ranks=RankSet(),
        processes=(process_of(standing, peer), *whole.processes), because=(word, *whole.because),
        next=(Step(f"kill -CONT {peer.pid}", standing.member.ref), *whole.next),
    )  # fmt: skip


def _ranks(case: Case, refs: tuple[ProcessRef, ...]) -> RankSet:
    return RankSet(member.rank for ref in refs if (member := case.by_ref.get(ref)) and member.rank is not None)


RULE = make_rule(__name__, __doc__, "rank-stuck-in-user-code", 36, check)
