"""All threads of one process side by side: what Python says of each, what the kernel says, and what it waits for."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from ..model.evidence.blocked import Blocked, BlockedCall
from ..model.evidence.stacks import PythonStacks, PythonThread, Stack
from ..model.evidence.threads import KernelThread, Threads
from .case import Case, Member
from .frame_tables import WaitKind
from .frames import WaitState, wait_of
from .identity import module_path_of, name_of, own
from .kernel_says import refine
from .remembered import remembered
from .standing import Standing

# Code that waits in C++ for other ranks, devices and threads on the same system call as a lock does.
_NATIVE_WAITS = ("torch/nn/", "torch/distributed/", "torch/autograd/")

_FORKS = ("multiprocessing/popen_fork.py", "_launch")

# The files of which the interpreter itself is made.
_INTERPRETER = ("python", "libpython", "pypy", "libpypy")


@dataclass(frozen=True)
class ThreadView:
    """One Python thread; ``call`` is the system call it waits in."""

    python: PythonThread
    task: KernelThread | None
    wait: WaitState
    call: BlockedCall | None

    @functools.cached_property
    def stack(self) -> Stack:
        return own(self.python.stack)

    @property
    def name(self) -> str:
        label = self.python.name or (f"thread {self.python.tid}" if self.python.tid else "a thread")
        return f"{label} ({self.python.tid})" if self.python.name and self.python.tid else label

    @property
    def asleep(self) -> bool:
        return self.task is None or self.task.state in ("S", "D")

    @property
    def lock_word(self) -> int:
        """The address of the futex of its own process that it waits on without a time limit, 0 when it does not.

        One that processes share may be held by any of them, so that this process's threads do not tell.
        """
        call = self.call
        return call.address if call and call.call == "futex" and not call.timed and not call.shared else 0

    @property
    def wants_lock(self) -> bool:
        """Whether it waits for a mutex itself, not for a condition, a queue or another thread built on one.

        A mutex whose owner was read from memory is one, whatever the frames say: native code leaves none of its own.
        """
        if not self.asleep:
            return False
        if self.call is not None and self.call.owner:
            return bool(self.lock_word)
        if self.stack and module_path_of(self.stack[-1]).startswith(_NATIVE_WAITS):
            return False
        wants = (
            self.wait.kind is WaitKind.LOCK or self._enters_queue or (self._is_about_to_fork and bool(self.lock_word))
        )
        return wants and (self.call is None or bool(self.lock_word))

    @property
    def of_python(self) -> bool | None:
        """Whether it is a lock of the interpreter that it waits for, which native threads do not take: its frames or the caller
        of the kernel say so. None where nothing tells; a frame that ends in the job's own code may be at either."""
        if self.wait.kind is WaitKind.QUEUE or wait_of(self.stack).kind is WaitKind.LOCK:
            return True
        library = self.call.library if self.call is not None else ""
        return library.startswith(_INTERPRETER) if library else None

    @property
    def wants_semaphore(self) -> bool:
        """Whether it waits without a time limit for a semaphore of ``threading``: in its condition's wait, out of acquire."""
        inner = [name_of(frame) for frame in self.stack[-2:]]
        return bool(self.lock_word) and inner in (
            [("threading.py", name), ("threading.py", "wait")] for name in ("acquire", "__enter__")
        )

    @property
    def _is_about_to_fork(self) -> bool:
        """Whether it stands in the fork of multiprocessing itself, which first takes the locks of those who asked for that
        (``os.register_at_fork``): the method of a lock has no frame."""
        return bool(self.stack) and name_of(self.stack[-1]) == _FORKS

    @property
    def _enters_queue(self) -> bool:
        """Whether it wants the mutex of a ``queue.Queue``: who waits for an item stands in its condition's wait."""
        last = self.stack[-1] if self.stack else None
        return (
            self.wait.kind is WaitKind.QUEUE and last is not None and (name_of(last) == ("threading.py", "__enter__"))
        )


@remembered
def views(member: Member) -> tuple[ThreadView, ...]:
    """The Python threads of a process at its last look."""
    stacks, kernel, blocked = member.latest(PythonStacks), member.latest(Threads), member.latest(Blocked)
    tasks = {task.tid: task for task in kernel.threads} if kernel else {}
    calls = {call.tid: call for call in blocked.calls} if blocked else {}
    out = []
    for thread in stacks.threads if stacks else ():
        task = tasks.get(thread.tid or -1)
        out.append(ThreadView(thread, task, refine(wait_of(own(thread.stack)), task), calls.get(thread.tid or -1)))
    return tuple(out)


def imports(stack: Stack) -> bool:
    """Whether a thread is in the middle of an import: the module is being loaded, and its lock is held."""
    return any(
        module_path_of(frame) == "importlib/_bootstrap.py" and frame.function.endswith("_load_unlocked")
        for frame in stack
    )


def nobody_acts(member: Member, but: PythonThread | None = None) -> bool:
    """Whether every thread of a process, native ones included (``but`` one), sleeps without a time limit on a word of memory
    of this process alone: then none of them can wake another, and only a signal could."""
    kernel, blocked = member.latest(Threads), member.latest(Blocked)
    calls = {call.tid: call for call in blocked.calls} if blocked else {}
    tids = [task.tid for task in kernel.threads if but is None or task.tid != but.tid] if kernel else []
    return all(_asleep_alone(calls.get(tid)) for tid in tids) and (bool(tids) or but is not None)


# Handlers that are no part of a program: CPython's of Ctrl-C, faulthandler's of crashes, and two of the C library's own.
_INTERRUPT, _CRASHES, _OF_LIBC = 2, (4, 6, 7, 8, 11), (32, 33)


def heeds_signals(member: Member) -> bool:
    """Whether a signal may make a handler of the program's own run, or nothing tells."""
    kernel = member.latest(Threads)
    if kernel is None or kernel.caught is None:
        return True
    return bool(set(kernel.caught).difference((_INTERRUPT, *_CRASHES, *_OF_LIBC)))


# Waits that only another thread of the process can end.
_ENDED_BY_THREADS = (WaitKind.QUEUE, WaitKind.LOCK, WaitKind.CONDITION, WaitKind.CHILD)


def nobody_else(standing: Standing) -> bool:
    """Whether all threads of the process wait without limit for what only another of them could bring.

    A lone thread in an event or condition is left out where it heeds signals: programs that work in handlers alone stand so.
    """
    by_signals = rests_alone(standing) and heeds_signals(standing.member)
    return standing.kind in _ENDED_BY_THREADS and not by_signals and nobody_acts(standing.member)


def rests_alone(standing: Standing) -> bool:
    """Whether the only Python thread of a process waits for an event or condition, which a handler of a signal may bring."""
    alone = len(views(standing.member)) == 1 and not awaits_future(standing)
    return alone and standing.kind in (WaitKind.CONDITION, WaitKind.CHILD)


def awaits_future(standing: Standing) -> bool:
    """Whether it waits for a future, which somebody must complete."""
    return any(module_path_of(frame) == "concurrent/futures/_base.py" for frame in standing.own_stack)


def asleep_alone(view: ThreadView) -> bool:
    """Whether a thread sleeps without a time limit in what only its own process can bring."""
    return _asleep_alone(view.call)


def may_act_beside(standing: Standing) -> tuple[ThreadView, ...]:
    """The threads in the job's own code, beside the deciding one, that run, nap, or wait for what comes from outside the process:
    each of them may bring at any moment what others wait for."""
    if standing.member.latest(Blocked) is None:
        return ()
    others = (view for view in views(standing.member) if view.python is not standing.thread and view.wait.user >= 0)
    return tuple(view for view in others if not asleep_alone(view))


# Files whose waits only another thread of the process can end; multiprocessing's are ended by other processes.
_OF_THREADS = ("threading.py", "queue.py", "concurrent/futures/_base.py")


def waits_for_thread(view: ThreadView) -> bool:
    """Whether it waits for a result, an event, a queue or the end of another thread, without a limit."""
    inside = view.stack[view.wait.user + 1 :]
    of_threads = bool(inside) and all(module_path_of(frame) in _OF_THREADS for frame in inside)
    return of_threads and view.wait.kind in (WaitKind.CONDITION, WaitKind.QUEUE, WaitKind.CHILD) and asleep_alone(view)


def _asleep_alone(call: BlockedCall | None) -> bool:
    return call is not None and call.call == "futex" and not call.timed and not call.shared


# Waits of helper threads that hold nothing anybody needs.
_HARMLESS = {WaitKind.IDLE, WaitKind.LOCK, WaitKind.CHILD, WaitKind.UNKNOWN}


def possible_holders(all_views: tuple[ThreadView, ...]) -> tuple[ThreadView, ...]:
    """Threads that are neither waiting for a lock, nor for another thread, nor idle: they may hold what others want."""
    return tuple(
        view for view in all_views if view.wait.kind not in _HARMLESS and view.stack and not _idle_feeder(view)
    )


def _idle_feeder(view: ThreadView) -> bool:
    """A queue's feeder thread that has nothing to write: it waits for an item and holds nothing meanwhile."""
    return any(frame.function.rsplit(".", 1)[-1] == "_feed" for frame in view.stack) and view.wait.kind in (
        WaitKind.CONDITION,
        WaitKind.QUEUE,
    )


def forked(member: Member, parent: Member | None = None) -> bool:
    """Whether the process was forked from a running Python, so that it has a copy of every lock of its parent.

    The frame in which multiprocessing forked it is still on its stack; a spawned process has none. Of other forks the kernel
    tells: they count where the parent is known and has threads, since programs that become daemons fork before they start any.
    """
    here, there = member.latest(Threads), parent.latest(Threads) if parent else None
    if here is not None and here.forked and there is not None and len(there.threads) > 1:
        return True
    stacks = member.latest(PythonStacks)
    return any(name_of(frame) == _FORKS for thread in (stacks.threads if stacks else ()) for frame in thread.stack[:-1])


def parent_of(case: Case, member: Member) -> Member | None:
    """The member that started a process, None where it is no part of the job."""
    return case.by_pid.get((member.ref.host, member.process.parent))
