"""What the kernel says of a wait where the frames end in the job's own code or in a library: its channel, its descriptor."""

from __future__ import annotations

import dataclasses

from ..model.evidence.blocked import Blocked
from ..model.evidence.files import OpenFiles
from ..model.evidence.may_wait import TERMINALS
from ..model.evidence.threads import KernelThread
from .case import Member
from .frame_tables import WaitKind
from .frames import WaitState

# Wait channels of C calls of unknown purpose (Linux 5.x–6.x).
_WCHAN = (
    (("futex", ), WaitKind.LOCK),
    (("hrtimer_nanosleep", "do_nanosleep"), WaitKind.SLEEP),
    (("pipe_read", "anon_pipe_read", "pipe_wait", "pipe_write", "anon_pipe_write", "wait_for_partner"), WaitKind.PIPE),
    (("locks_lock_inode_wait", "fcntl_setlk", "flock_lock", "posix_lock"), WaitKind.FILE_LOCK),
    (("do_wait", "kernel_wait4"), WaitKind.CHILD),
    (("wait_woken", "sk_wait_data", "inet_csk_accept", "unix_stream", "tcp_", "sk_stream_wait", "__skb_wait"), WaitKind.SOCKET),
    (("fuse_dev_",), WaitKind.IDLE),  # the server of such a file system, which waits for a request
    (("request_wait_answer", "fuse_", "nfs", "rpc_wait", "percpu_rwsem_wait", "io_schedule", "folio_wait", "lustre", "cl_sync"),
     WaitKind.STORAGE),
    (("n_tty_read", "tty_read"), WaitKind.INPUT),
    (("wq_sleep", "do_msgsnd", "do_msgrcv"), WaitKind.QUEUE),
    (("ep_poll", "do_epoll_wait", "poll_schedule_timeout", "do_select", "do_sys_poll"), WaitKind.SOCKET),
)  # fmt: skip
# Where a thread waits for the server of a file system, whatever its frames say.
_ASKS_A_SERVER = ("request_wait_answer", "__fuse_request_send", "rpc_wait", "nfs_wait", "nfs4_")
# signal.pause() and sigwait(): a main thread that leaves the work to others, and waits to be told to end.
_FOR_SIGNAL = ("__do_sys_pause", "sys_pause", "do_sigtimedwait", "sigsuspend")
SIGNAL = "a wait for a signal"
# What a descriptor points to says more than the wait channel: terminals, pipes and sockets share some of those.
_TARGETS: tuple[tuple[tuple[str, ...], WaitKind], ...] = (
    (TERMINALS, WaitKind.INPUT),
    (("pipe:",), WaitKind.PIPE),
    (("socket:",), WaitKind.SOCKET),
)
# Where the memory controller holds a thread: no page is left and nobody is killed; or the group is over what it should use.
_OF_MEMORY = ("mem_cgroup_oom_synchronize", "mem_cgroup_handle_over_high")


def awaited_target(member: Member, task: KernelThread | None) -> str:
    """What the one descriptor points to that a thread's system call waits on, empty when it is none or several; of several pipes,
    such as a child's output and errors, the first."""
    blocked, files = member.latest(Blocked), member.latest(OpenFiles)
    if blocked is None or files is None or task is None:
        return ""
    call = next((call for call in blocked.calls if call.tid == task.tid), None)
    found = [one.target for one in files.files if call is not None and one.fd in call.fds]
    alike = len(found) == 1 or all(one.startswith("pipe:") for one in found)
    return found[0] if call is not None and found and len(found) == len(call.fds) and alike else ""


def refine(wait: WaitState, task: KernelThread | None, target: str = "") -> WaitState:
    """Add what the kernel knows where the frames end in the job's own code or in a library."""
    if wait.kind is WaitKind.CHILD and wait.op in ("communicate", "_communicate") and target.startswith("pipe:"):
        # It reads a child's output, which others may hold open after its end.
        return dataclasses.replace(wait, kind=WaitKind.PIPE)
    if wait.kind is WaitKind.CHILD and task is not None and task.wchan.startswith(_ASKS_A_SERVER):
        # A child that was forked has the frames of its parent until its exec, which reads the program.
        return dataclasses.replace(wait, kind=WaitKind.STORAGE, op=task.wchan)
    if task is None or wait.kind not in (
        WaitKind.USER,
        WaitKind.LIBRARY,
        WaitKind.UNKNOWN,
        WaitKind.STORAGE,
        WaitKind.CHECKPOINT,
    ):
        return wait
    if task.state == "D" or awaits_memory(task):
        return dataclasses.replace(wait, kind=WaitKind.STORAGE, op=awaits_memory(task) or task.wchan)
    if task.state != "S" or wait.kind in (WaitKind.STORAGE, WaitKind.CHECKPOINT):
        return wait
    for starts, kind in _TARGETS:
        if target.startswith(starts):
            return dataclasses.replace(wait, kind=kind)
    if task.wchan.startswith(_FOR_SIGNAL):
        return dataclasses.replace(wait, kind=WaitKind.CONDITION, op=SIGNAL)
    for starts, kind in _WCHAN:
        if task.wchan.startswith(starts):
            return dataclasses.replace(wait, kind=kind, op=wait.op)
    return wait


def awaits_memory(task: KernelThread | None) -> str:
    """The place of the kernel in which a thread waits for memory of its control group, empty when it does not."""
    seen = (task.wchan, *task.kernel_stack) if task is not None else ()
    return next((place for place in _OF_MEMORY if place in seen), "")
