"""A process waits for a file system that does not answer.

## What it means
A thread is inside the kernel, waiting for storage: a network file system whose server is gone, a FUSE daemon that hangs, a
frozen or overloaded disk. It cannot be killed while it waits, and tools that attach to it hang as well.

## How it is recognised
State D (or a FUSE request) with a wait channel or kernel stack of a file system, of the thread that decides or of one it waits
for, which has not run for longer than `--stuck-after`. Where only the others have waited for that long, the thread itself came
there later or wakes now and then, and may be slow: that is at most possible, and nothing where the process moves data. The path
comes from its open files and its stack.

## What to do
Find the mount (`cat /proc/PID/stack`, `ls -l /proc/PID/fd`), see whether the server answers (`stat -f MOUNT` in a shell you
can lose), bring it back or unmount it (`umount -l`). The process goes on by itself when the file system does.

## How to prevent it
Soft mounts for data that can be read again, local caches, checkpoints written by a helper process with a time limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case, Root
from ...analysis.frame_tables import WaitKind
from ...analysis.kernel_says import awaits_memory
from ...analysis.own_age import own_s
from ...analysis.progress import advances
from ...analysis.standing import Standing, stand
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.cgroup import ControlGroup
from ...model.evidence.space import WaitedMounts
from ...model.evidence.stacks import PythonStacks
from ...model.evidence.threads import Threads
from ...model.process import Role
from ...model.words import span
from .. import make_rule
from .._say import at, ranks_of, roots, waited_for, who

# vfork shows state D too while the child has not yet called exec; freezing shows D with the old wait channel.
_NOT_STORAGE = ("kernel_clone", "futex", "do_signal_stop", "refrigerator", "__refrigerator", "hrtimer")
# Waits of a main thread for another one of its process.
_MINDING = {WaitKind.CONDITION, WaitKind.QUEUE, WaitKind.LOCK, WaitKind.CHILD, WaitKind.EXIT}
_FUSE, _SERVES = ("request_wait_answer", "fuse_"), "fuse_dev_"


def check(case: Case) -> Iterator[Finding]:
    reached = {root.ref: root for root, _ in roots(case)}
    for deciding in case.standings.values():
        standing = _thread_below(case, deciding) if deciding.kind in _MINDING else deciding
        if standing.member.gone or standing.member.role is Role.HELPER or not _stalled(standing):
            continue
        root = reached.get(standing.member.ref)
        if root is None and standing.member.role is Role.OTHER and case.ranks:
            continue
        if advances(standing) or not (case.stuck(own_s(standing)) or (root is not None and case.stuck(root.age_s))):
            continue
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=_sure(case, root, standing),
            title=f"{who(standing.member.process)} waits for a file system in {at(standing.user_frame)}",
            ranks=ranks_of(standing), processes=(standing.member.process,),
            because=(_kernel(standing), *_behind(standing), *(waited_for(root) if root else ())),
            against=tuple(_against(case, standing)),
            next=(Step(f"sudo cat /proc/{standing.member.ref.pid}/stack; ls -l /proc/{standing.member.ref.pid}/fd",
                       standing.member.ref),
                  Step("grep -E 'nfs|fuse|lustre|gpfs|ceph' /proc/mounts", standing.member.ref)),
        )  # fmt: skip


def _sure(case: Case, root: Root | None, standing: Standing) -> Certainty:
    """How sure it is that nothing moves, by the age of the thread itself: its waiters may have come long before it."""
    own = own_s(standing)
    if own is not None and not case.stuck(own):
        return Certainty.POSSIBLE
    named = root is not None and standing.kernel is not None and bool(standing.kernel.wchan)
    return Certainty.CERTAIN if named and own is not None else Certainty.LIKELY


def _against(case: Case, standing: Standing) -> Iterator[str]:
    own = own_s(standing)
    if own is not None and not case.stuck(own):
        since = "wakes now and then" if standing.ran else f"has been there for {span(own)} only"
        yield f"its thread {since}: the file system may be slow and answer; if `grep _bytes /proc/PID/io` grows, it does"


def _thread_below(case: Case, deciding: Standing) -> Standing:
    """The thread that has long waited for storage in a process whose deciding one waits for its threads; else the latter."""
    stacks = deciding.member.latest(PythonStacks)
    others = (stand(deciding.member, thread) for thread in (stacks.threads if stacks else ()))
    return next((one for one in others if _stalled(one) and case.stuck(one.still_s)), deciding)


def _stalled(standing: Standing) -> bool:
    kernel = standing.member.latest(Threads)
    task = standing.kernel
    if kernel is None or task is None or kernel.frozen or standing.kind not in (WaitKind.STORAGE, WaitKind.CHECKPOINT):
        return False
    group = standing.member.latest(ControlGroup)
    if awaits_memory(task) or (not task.wchan and group is not None and group.waits):
        return False
    if task.state == "D":
        return not task.wchan.startswith(_NOT_STORAGE)
    return task.state == "S" and task.wchan.startswith(_FUSE) and not task.wchan.startswith(_SERVES)


def _kernel(standing: Standing) -> Reason:
    task = standing.kernel
    stack = f", kernel stack {' < '.join(task.kernel_stack[:4])}" if task and task.kernel_stack else ""
    state = f"state {task.state}, wait channel {task.wchan or 'unknown'}{stack}" if task else "state unknown"
    return Reason(f"its thread is in {state}", "kernel", standing.member.ref)


def _behind(standing: Standing) -> Iterator[Reason]:
    """The mounts it waits for, or those that it may."""
    waited = standing.member.latest(WaitedMounts)
    for mount in waited.mounts[:4] if waited else ():
        sure = "the file it waits on lies on" if waited and waited.known else "it may wait for"
        yield Reason(f"{sure} {mount.place} ({mount.kind} from {mount.source})", "mounts", standing.member.ref)


RULE = make_rule(__name__, __doc__, "filesystem-stall", 12, check)
