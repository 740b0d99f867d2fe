"""A parent waits for a result that its dead child will never send.

## What it means
A worker process was killed or crashed in the middle of its task. `multiprocessing.Pool` quietly starts another one, but the
task is lost and `get()` or `map()` waits for ever; a hand-made protocol over queues or pipes does not notice at all.

## How it is recognised
A process waits for a result, and one of its children is a zombie, or disappeared between the looks, or was started much later
than its siblings: a replacement.

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
from ..analysis.standing import Standing
from ..model.diagnosis import Certainty, Finding, Kind, Reason
from ..model.evidence.stacks import PythonStacks
from ..model.evidence.threads import Threads
from ..model.process import Role
from ..model.ranks import RankSet
from . import Rule
from ._say import at, certainty, old_roots, waited_for, who

_AWAITS_RESULT = {Wait.CONDITION, Wait.QUEUE, Wait.PIPE, Wait.SOCKET, Wait.CHILD, Wait.LOCK}
# Workers of one pool start within a breath of each other.
_MUCH_LATER_S = 0.5


def check(case: Case) -> Iterator[Finding]:
    for root, standing in old_roots(case):
        if standing.kind not in _AWAITS_RESULT or standing.member.role is Role.DATALOADER_WORKER:
            continue
        children = [m for m in case if m.process.parent == root.ref.pid and m.ref.host == root.ref.host
                    and m.role not in (Role.HELPER, Role.RANK)]  # fmt: skip
        lost = _lost(standing, children)
        if lost is not None:
            yield _finding(case, root, standing, *lost)


def _lost(standing: Standing, children: list[Member]) -> tuple[Member, str] | None:
    for child in children:
        if _dead(child):
            return child, f"its child pid {child.ref.pid} is " + (
                "gone" if child.gone else "a zombie that nobody has reaped"
            )
    if not any("multiprocessing/pool.py" in frame.file for frame in standing.own_stack):
        return None
    for child in children:
        if _replacement(child):
            return (
                child,
                f"pool worker pid {child.ref.pid} was forked by the pool's maintenance thread: it replaces one",
            )
    ages = {m.ref: kernel.uptime_s for m in children if (kernel := m.latest(Threads)) and kernel.uptime_s is not None}
    if len(ages) >= 2 and max(ages.values()) - min(ages.values()) > _MUCH_LATER_S:
        young = min(children, key=lambda m: ages.get(m.ref, 1e9))
        return young, f"pool worker pid {young.ref.pid} started {max(ages.values()) - min(ages.values()):.1f} s after its " \
                      "siblings: it replaces one that died with its task"  # fmt: skip
    return None


def _replacement(child: Member) -> bool:
    """Whether the frames it inherited at fork are those in which a pool makes up for a worker that ended."""
    stacks = child.latest(PythonStacks)
    return any(
        frame.function.endswith(("_maintain_pool", "_handle_workers")) and "multiprocessing/pool.py" in frame.file
        for thread in (stacks.threads if stacks else ())
        for frame in thread.stack
    )


def _dead(member: Member) -> bool:
    kernel = member.latest(Threads)
    return member.gone or bool(kernel and kernel.threads and all(task.state in "ZX" for task in kernel.threads))


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
