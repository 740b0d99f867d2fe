"""How one process stands: the thread that matters, what it waits for, for how long, and whether it moved."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass

from ..model.evidence.blocked import Blocked
from ..model.evidence.files import OpenFiles
from ..model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack
from ..model.evidence.threads import KernelThread, Threads
from ..model.process import ProcessRef, Role
from .case import Member
from .frame_tables import Kind
from .frames import WaitState, wait_of
from .identity import main_thread, own
from .origin import is_user

# Kinds that say a thread is part of the work of the job, strongest first; a main thread that only minds others yields.
_WORK = (
    Kind.COLLECTIVE, Kind.P2P, Kind.BACKWARD, Kind.RENDEZVOUS, Kind.STORE, Kind.FILE_BATON, Kind.DATA, Kind.CHECKPOINT,
)  # fmt: skip
_TOGETHER = (Kind.COLLECTIVE, Kind.P2P, Kind.BACKWARD)
_MINDING = {Kind.IDLE, Kind.CONDITION, Kind.CHILD, Kind.QUEUE, Kind.SOCKET, Kind.UNKNOWN}

# What the kernel says where the frames end in a C call of unknown purpose (wchan names: Linux 5.x–6.x).
_WCHAN = (
    (("futex", ), Kind.LOCK),
    (("hrtimer_nanosleep", "do_nanosleep"), Kind.SLEEP),
    (("pipe_read", "anon_pipe_read", "pipe_wait", "pipe_write", "anon_pipe_write", "wait_for_partner"), Kind.PIPE),
    (("locks_lock_inode_wait", "fcntl_setlk", "flock_lock", "posix_lock"), Kind.FILE_LOCK),
    (("do_wait", "kernel_wait4"), Kind.CHILD),
    (("wait_woken", "sk_wait_data", "inet_csk_accept", "unix_stream", "tcp_", "sk_stream_wait", "__skb_wait"), Kind.SOCKET),
    (("request_wait_answer", "fuse_", "nfs", "rpc_wait", "percpu_rwsem_wait", "io_schedule", "folio_wait", "lustre", "cl_sync"),
     Kind.STORAGE),
    (("n_tty_read", "tty_read"), Kind.INPUT),
    (("ep_poll", "do_epoll_wait", "poll_schedule_timeout", "do_select", "do_sys_poll"), Kind.SOCKET),
)  # fmt: skip


@dataclass(frozen=True)
class Standing:
    """``still_s`` is how long the deciding thread has not run, None where unknown. ``moved`` says whether its stack or
    scalar locals changed between sweeps, ``ran`` whether it was scheduled at all, ``busy`` its share of one CPU;
    ``helped`` that threads or children of its own get on while it waits."""

    member: Member
    wait: WaitState
    thread: PythonThread | None = None
    kernel: KernelThread | None = None
    state: str = ""
    still_s: float | None = None
    ran: bool | None = None
    moved: bool | None = None
    busy: float = 0.0
    helped: bool = False

    @property
    def kind(self) -> Kind:
        return self.wait.kind

    @property
    def stack(self) -> Stack:
        return self.thread.stack if self.thread else Stack()

    @functools.cached_property
    def own_stack(self) -> Stack:
        """The deciding thread's stack without what it inherited at fork."""
        return own(self.stack)

    @property
    def site(self) -> tuple[tuple[str, str, int], ...]:
        """Where in the program it stands: frames down to the deepest one of the job's own code."""
        last = self.wait.user + 1 if self.wait.user >= 0 else len(self.own_stack)
        return tuple((frame.file, frame.function, frame.line) for frame in self.own_stack[:last])

    @property
    def user_frame(self) -> Frame | None:
        return self.wait.user_frame


def stand(member: Member, thread: PythonThread | None = None) -> Standing:
    """How a process stands after the last sweep that saw it, judged by one thread (or the one that decides)."""
    kernel = member.latest(Threads)
    stacks = member.latest(PythonStacks)
    if thread is None and stacks is not None:
        thread = deciding_thread(stacks, member.ref.pid)
    task = _task(kernel, thread.tid if thread and thread.tid else member.ref.pid)
    wait = wait_of(own(thread.stack)) if thread else WaitState(Kind.UNKNOWN)
    wait = refine(wait, task, _descriptor(member, task))
    before = _first_task(member, task)
    ran = _ran(before, task)
    return Standing(
        member, wait, thread, task, state=task.state if task else "", still_s=_still(member, task, ran),
        ran=ran, moved=_moved(member, thread), busy=_busy(member, before, task),
    )  # fmt: skip


def align(standings: dict[ProcessRef, Standing]) -> dict[ProcessRef, Standing]:
    """Let every rank be judged by the thread that does the work on the others.

    Under Ray and in servers the training runs in a thread of its own. On a rank that is in trouble there, its main thread
    looks like everybody's, so the work thread is found by where it began: the first frame of the job's own code.
    """
    ranks = [one for one in standings.values() if one.member.role is Role.RANK and one.thread is not None]
    begun = {key for one in ranks if not _on_main(one) and (key := _beginning(one.thread)) is not None}
    if not begun:
        return standings
    out = dict(standings)
    for one in ranks:
        stacks = one.member.latest(PythonStacks)
        if _on_main(one) and one.kind in _MINDING | {Kind.SLEEP, Kind.LOCK, Kind.USER} and stacks is not None:
            worker = next((thread for thread in stacks.threads if _beginning(thread) in begun), None)
            if worker is not None and worker is not one.thread:
                out[one.member.ref] = stand(one.member, worker)
    return out


def _on_main(standing: Standing) -> bool:
    return standing.thread is None or standing.thread.tid in (standing.member.ref.pid, None)


def _beginning(thread: PythonThread | None) -> tuple[str, str] | None:
    """The outermost frame of the job's own code in a thread that is not the program's main line."""
    frames = own(thread.stack) if thread is not None else ()
    if not frames or not frames[0].function.endswith("_bootstrap"):
        return None
    return next(((frame.file, frame.function) for frame in frames if is_user(frame)), None)


def deciding_thread(stacks: PythonStacks, pid: int) -> PythonThread | None:
    """The main thread, unless it only minds another one that does the job's work (Ray, servers, join)."""
    main = main_thread(stacks, pid)
    if main is None or len(stacks.threads) == 1:
        return main
    minding = wait_of(own(main.stack)).kind in _MINDING
    kinds = {id(thread): wait_of(own(thread.stack)).kind for thread in stacks.threads}
    # A main thread that does something of its own yields only to one that stands in a collective itself.
    for kind in _WORK if minding else _TOGETHER if kinds[id(main)] in (Kind.USER, Kind.SLEEP) else ():
        for thread in stacks.threads:
            if thread is not main and kinds[id(thread)] is kind:
                return thread
    return main


# What a descriptor points to says more than the wait channel: terminals, pipes and sockets share some of those.
_TARGETS = (("/dev/pts/", Kind.INPUT), ("/dev/tty", Kind.INPUT), ("pipe:", Kind.PIPE), ("socket:", Kind.SOCKET))


def _descriptor(member: Member, task: KernelThread | None) -> str:
    """What the one descriptor points to that a thread's system call waits on, empty when it is none or several."""
    blocked, files = member.latest(Blocked), member.latest(OpenFiles)
    if blocked is None or files is None or task is None:
        return ""
    call = next((call for call in blocked.calls if call.tid == task.tid), None)
    if call is None or len(call.fds) != 1:
        return ""
    return next((one.target for one in files.files if one.fd == call.fds[0]), "")


def refine(wait: WaitState, task: KernelThread | None, target: str = "") -> WaitState:
    """Add what the kernel knows where the frames end in the job's own code or in a library."""
    if wait.kind is Kind.CHILD and wait.op == "communicate" and target.startswith("pipe:"):
        return dataclasses.replace(
            wait, kind=Kind.PIPE
        )  # it reads a child's output, which others may hold open after its end
    if task is None or wait.kind not in (Kind.USER, Kind.LIBRARY, Kind.UNKNOWN, Kind.STORAGE, Kind.CHECKPOINT):
        return wait
    if task.state == "D" or awaits_memory(task):
        return dataclasses.replace(wait, kind=Kind.STORAGE, op=awaits_memory(task) or task.wchan)
    if task.state != "S" or wait.kind in (Kind.STORAGE, Kind.CHECKPOINT):
        return wait
    for start, kind in _TARGETS:
        if target.startswith(start):
            return dataclasses.replace(wait, kind=kind)
    for starts, kind in _WCHAN:
        if task.wchan.startswith(starts):
            return dataclasses.replace(wait, kind=kind, op=wait.op)
    return wait


# Where the memory controller holds a thread: no page is left and nobody is killed; or the group is over what it should use.
_OF_MEMORY = ("mem_cgroup_oom_synchronize", "mem_cgroup_handle_over_high")


def awaits_memory(task: KernelThread | None) -> str:
    """The place of the kernel in which a thread waits for memory of its control group, empty when it does not."""
    seen = (task.wchan, *task.kernel_stack) if task is not None else ()
    return next((place for place in _OF_MEMORY if place in seen), "")


def idle_worker(standing: Standing) -> bool:
    """A loader worker without work, or a helper that only listens: nobody's culprit."""
    if standing.member.role is Role.HELPER:
        return True
    if standing.member.role is not Role.DATALOADER_WORKER:
        return False
    if standing.thread is None and standing.kernel is not None:  # it waits for an index in a poll of its queue's pipe
        return standing.state == "S" and ("poll" in standing.kernel.wchan or standing.kind is Kind.PIPE)
    functions = [frame.function.rsplit(".", 1)[-1] for frame in standing.own_stack]
    if standing.wait.user >= 0 or "fetch" in functions:
        return False
    return any(name in ("get", "poll", "_poll", "recv", "wait") for name in functions) and standing.state in ("S", "")


def _task(kernel: Threads | None, tid: int) -> KernelThread | None:
    if kernel is None or not kernel.threads:
        return None
    return next((task for task in kernel.threads if task.tid == tid), kernel.threads[0])


def _first_task(member: Member, task: KernelThread | None) -> KernelThread | None:
    first = member.first(Threads)
    if first is None or task is None or len(member.over_time(Threads)) < 2:
        return None
    return next((one for one in first.threads if one.tid == task.tid), None)


def _still(member: Member, task: KernelThread | None, ran: bool | None) -> float | None:
    """How long it has not run: what the kernel says, whose clocks may differ between CPUs, and at least since the first look."""
    said = task.still_s if task else None
    times = [one.uptime_s for one in member.over_time(Threads) if one.uptime_s is not None]
    if said is None or ran is not False or len(times) < 2:
        return said
    return max(said, round(times[-1] - times[0], 3))


def _ran(before: KernelThread | None, now: KernelThread | None) -> bool | None:
    if before is None or now is None or now.voluntary < 0:
        return None
    return (before.voluntary, before.involuntary, before.cpu_s) != (now.voluntary, now.involuntary, now.cpu_s)


def _busy(member: Member, before: KernelThread | None, now: KernelThread | None) -> float:
    first, last = member.first(Threads), member.latest(Threads)
    if before is None or now is None or first is None or last is None:
        return 0.0
    passed = (last.uptime_s or 0.0) - (first.uptime_s or 0.0)
    return (now.cpu_s - before.cpu_s) / passed if passed > 0 else 0.0


def _moved(member: Member, thread: PythonThread | None) -> bool | None:
    """Whether the thread's stack or locals differ between the sweeps; None with one look only."""
    looks = member.over_time(PythonStacks)
    if thread is None or len(looks) < 2:
        return None
    for look in looks:
        same = next((one for one in look.threads if one.tid == thread.tid), None)
        if same is None or same.stack != thread.stack or same.locals != thread.locals:
            return True
    return False
