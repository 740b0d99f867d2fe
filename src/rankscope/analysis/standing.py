"""How one process stands: the thread that matters, what it waits for, for how long, and whether it moved."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

from ..model.evidence.stacks import Frame, NativeStacks, PythonStacks, PythonThread, Stack
from ..model.evidence.threads import KernelThread, Threads
from ..model.process import ProcessRef, Role
from .case import Member
from .frame_tables import WaitKind
from .frames import WaitState, wait_of
from .identity import again, main_thread, name_of, own
from .kernel_says import SIGNAL, awaited_target, refine
from .load import watched_s
from .origin import is_user

# Kinds that say a thread is part of the work of the job, strongest first; a main thread that only minds others yields.
_WORK = (
    WaitKind.COLLECTIVE,
    WaitKind.P2P,
    WaitKind.BACKWARD,
    WaitKind.RENDEZVOUS,
    WaitKind.STORE,
    WaitKind.FILE_BATON,
    WaitKind.DATA,
    WaitKind.CHECKPOINT,
)
_TOGETHER = (WaitKind.COLLECTIVE, WaitKind.P2P, WaitKind.BACKWARD)
_MINDING = {WaitKind.IDLE, WaitKind.CONDITION, WaitKind.CHILD, WaitKind.QUEUE, WaitKind.SOCKET, WaitKind.UNKNOWN}


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
    def kind(self) -> WaitKind:
        return self.wait.kind

    @property
    def stack(self) -> Stack:
        return self.thread.stack if self.thread else Stack()

    @functools.cached_property
    def own_stack(self) -> Stack:
        """The deciding thread's stack without what it inherited at fork."""
        return own(self.stack)

    @functools.cached_property
    def looks(self) -> tuple[PythonThread, ...]:
        """The deciding thread at each look that shows it."""
        found = _at_each_look(self.member, self.thread) if self.thread is not None else ()
        return tuple(one for one in found if one is not None)

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
    named = thread is not None
    if thread is None and stacks is not None:
        thread = deciding_thread(stacks, member.ref.pid)
    task = _task(kernel, thread.tid if thread and thread.tid else member.ref.pid)
    wait = wait_of(own(thread.stack)) if thread else WaitState(WaitKind.UNKNOWN)
    if thread is not None and wait.kind in _ENDS_IN_PYTHON:
        wait = _below(member, thread, wait)
    wait = refine(wait, task, awaited_target(member, task))
    if (
        not named
        and (wait.op == SIGNAL or _joins(thread, wait))
        and (worker := _only_worker(stacks, thread)) is not None
    ):
        return stand(member, worker)
    before = _first_task(member, task)
    ran = _ran(before, task)
    return Standing(
        member, wait, thread, task, state=task.state if task else "", still_s=_still(member, task, ran),
        ran=ran, moved=_moved(member, thread), busy=_busy(member, before, task),
    )  # fmt: skip


_ENDS_IN_PYTHON = (WaitKind.USER, WaitKind.LIBRARY)
_BELOW = (WaitKind.P2P, WaitKind.COLLECTIVE)


def _below(member: Member, thread: PythonThread, wait: WaitState) -> WaitState:
    """The wait with what the native stack of the same thread shows below its last frame of Python, where that is a message or a
    collective: the object that stands for one has no frame of its own."""
    native = member.latest(NativeStacks)
    same = next((one for one in native.threads if one.tid == thread.tid), None) if native is not None else None
    below = wait_of(own(same.stack)) if same is not None else None
    return replace(wait, kind=below.kind, op=below.op) if below is not None and below.kind in _BELOW else wait


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
        if (
            _on_main(one)
            and one.kind in _MINDING | {WaitKind.SLEEP, WaitKind.LOCK, WaitKind.USER}
            and stacks is not None
        ):
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
    for kind in _WORK if minding else _TOGETHER if kinds[id(main)] in (WaitKind.USER, WaitKind.SLEEP) else ():
        for thread in stacks.threads:
            if thread is not main and kinds[id(thread)] is kind:
                return thread
    return main


def idle_worker(standing: Standing) -> bool:
    """A loader worker without work, or a helper that only listens: nobody's culprit."""
    if standing.member.role is Role.HELPER:
        return True
    if standing.member.role is not Role.DATALOADER_WORKER:
        return False
    if standing.thread is None and standing.kernel is not None:  # it waits for an index in a poll of its queue's pipe
        return standing.state == "S" and ("poll" in standing.kernel.wchan or standing.kind is WaitKind.PIPE)
    functions = [frame.function.rsplit(".", 1)[-1] for frame in standing.own_stack]
    if standing.wait.user >= 0 or "fetch" in functions:
        return False
    return any(name in ("get", "poll", "_poll", "recv", "wait") for name in functions) and standing.state in ("S", "")


def _joins(thread: PythonThread | None, wait: WaitState) -> bool:
    """Whether it waits for the end of a thread in the job's own code."""
    inner = own(thread.stack)[wait.user + 1 :] if thread is not None and wait.kind is WaitKind.CHILD else ()
    return wait.user >= 0 and [name_of(frame) for frame in inner[:1]] == [("threading.py", "join")]


def _only_worker(stacks: PythonStacks | None, main: PythonThread | None) -> PythonThread | None:
    """The one other thread in the job's code, for a main thread that waits for a signal, or for its end, while it works."""
    others = [one for one in (stacks.threads if stacks else ()) if one is not main]
    found = [one for one in others if wait_of(own(one.stack)).user >= 0]
    return found[0] if len(found) == 1 else None


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
    passed = watched_s(member)
    return (now.cpu_s - before.cpu_s) / passed if before and now and passed else 0.0


def _at_each_look(member: Member, thread: PythonThread) -> tuple[PythonThread | None, ...]:
    return tuple(again(look, thread) for look in member.over_time(PythonStacks))


def _moved(member: Member, thread: PythonThread | None) -> bool | None:
    """Whether the thread's stack or locals differ between the sweeps; None with one look only, or where nothing tells."""
    seen = _at_each_look(member, thread) if thread is not None else ()
    if thread is None or len(seen) < 2:
        return None
    if thread.tid is None and None in seen:
        return None  # a dump that does not number its threads does not tell which of them it is
    return any(one is None or (one.stack, one.locals) != (thread.stack, thread.locals) for one in seen)
