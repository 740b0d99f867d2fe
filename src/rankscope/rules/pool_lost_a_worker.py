"""A parent waits for a result that its dead child will never send.

## What it means
A worker process was killed or crashed in the middle of its task. `multiprocessing.Pool` quietly starts another one, but the
task is lost and `get()` or `map()` waits for ever; a hand-made protocol over queues or pipes does not notice at all.

## How it is recognised
A process waits for a result, and one of its children is a zombie that ended badly, or disappeared between the looks, or still
bears the frames in which a pool makes up for a worker that ended. Or it waits in a lock, condition or barrier of
multiprocessing, and another child of its parent is such a zombie.

## What to do
Find why the child died (`dmesg` for the OOM killer, its core file, its last output). Use `concurrent.futures`, which raises
`BrokenProcessPool`, or give `get()` a time-out.

## How to prevent it
Pools that notice; limits on memory per task; time-outs on every result.

## Links
https://github.com/python/cpython/issues/66587
"""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.case import Case, Member, Root
from ..analysis.frame_tables import Kind as Wait
from ..analysis.identity import module_path_of
from ..analysis.standing import Standing
from ..model.diagnosis import Certainty, Finding, Kind, Reason
from ..model.evidence.blocked import Blocked
from ..model.evidence.stacks import PythonStacks
from ..model.evidence.threads import Threads
from ..model.process import ProcessRef, Role
from ..model.ranks import RankSet
from . import Rule
from ._death import dead, ended
from ._say import at, certainty, old_roots, stands, waited_for, who

_AWAITS_RESULT = {Wait.CONDITION, Wait.QUEUE, Wait.PIPE, Wait.SOCKET, Wait.CHILD, Wait.LOCK}


def check(case: Case) -> Iterator[Finding]:
    for root, standing in old_roots(case):
        if standing.kind not in _AWAITS_RESULT or standing.member.role is Role.DATALOADER_WORKER:
            continue
        children = [m for m in case if m.process.parent == root.ref.pid and m.ref.host == root.ref.host
                    and m.role not in (Role.HELPER, Role.RANK)]  # fmt: skip
        lost = _lost(standing, children)
        if lost is not None:
            yield _finding(case, root, standing, *lost)
    yield from _siblings(case)


def _siblings(case: Case) -> Iterator[Finding]:
    """A lock, condition or barrier between children of one parent, of whom one has died; told once per dead child."""
    told: set[ProcessRef] = set()
    for standing in case.standings.values():
        member = standing.member
        if member.role is not Role.OTHER or not case.stuck(standing.still_s) or not _between_processes(standing):
            continue
        for other in case:
            family = (other.process.parent, other.ref.host) == (member.process.parent, member.ref.host)
            if other is member or not family or not (dead(other) and _badly(other)) or other.ref in told:
                continue
            told.add(other.ref)
            yield Finding(
                rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
                title=f"{who(member.process)} waits in {at(standing.user_frame)} for what its dead sibling pid {other.ref.pid} "
                      "should have done",
                processes=(other.process, member.process),
                because=(Reason(f"pid {other.ref.pid} {ended(other)}", "kernel", other.ref), stands(standing)),
                next=("dmesg -T | grep -iE 'killed process|segfault' | tail",),
            )  # fmt: skip


def _between_processes(standing: Standing) -> bool:
    """Whether it waits in one of multiprocessing's locks, conditions or barriers, and not for work."""
    if standing.kind is Wait.IDLE:
        return False
    frames = standing.own_stack[standing.wait.user + 1 :]
    return any(module_path_of(frame) == "multiprocessing/synchronize.py" for frame in frames)


def _lost(standing: Standing, children: list[Member]) -> tuple[Member, str] | None:
    if _named_child(standing):
        return None  # wait4 returns at once for a dead child: this one is waited for because it lives
    for child in children:
        if dead(child) and _badly(child):
            state = "gone" if child.gone else "a zombie that nobody has reaped"
            return child, f"its child pid {child.ref.pid} is {state}"
    for child in children if any("multiprocessing/pool.py" in frame.file for frame in standing.own_stack) else ():
        if _replacement(child):
            return (
                child,
                f"pool worker pid {child.ref.pid} was forked by the pool's maintenance thread: it replaces one",
            )
    return None


def _named_child(standing: Standing) -> bool:
    blocked = standing.member.latest(Blocked)
    tid = standing.kernel.tid if standing.kernel else 0
    return any(call.tid == tid and call.child for call in (blocked.calls if blocked else ()))


def _badly(child: Member) -> bool:
    """Whether it may have ended badly: a zombie's exit status 0 is a good end where the kernel lets us read it."""
    kernel = child.latest(Threads)
    return kernel is None or kernel.exit_status != 0 or child.gone


def _replacement(child: Member) -> bool:
    """Whether the frames it inherited at fork are those in which a pool makes up for a worker that ended, and no limit of
    tasks per worker explains that."""
    stacks = child.latest(PythonStacks)
    threads = stacks.threads if stacks else ()
    limited = any(local.name == "maxtasks" and local.value != "None" for thread in threads for local in thread.locals)
    return not limited and any(
        frame.function.endswith(("_maintain_pool", "_handle_workers")) and "multiprocessing/pool.py" in frame.file
        for thread in threads
        for frame in thread.stack
    )


def _finding(case: Case, root: Root, standing: Standing, child: Member, text: str) -> Finding:
    member = standing.member
    return Finding(
        rule=RULE.id, cls="compile-worker" if child.role is Role.COMPILE_WORKER else RULE.cls, kind=Kind.CAUSE,
        certainty=certainty(case, root, Certainty.LIKELY),
        title=f"{who(member.process)} waits for a result of a child that died, in {at(standing.user_frame)}",
        ranks=RankSet([member.rank] if member.rank is not None else []), processes=(member.process, child.process),
        because=(Reason(text, "kernel", child.ref), *waited_for(root)),
        next=("dmesg -T | grep -iE 'killed process|segfault' | tail",),
    )  # fmt: skip


RULE = Rule(id="pool-lost-a-worker", cls="child-dead", check=check, page=__doc__ or "", order=22)
