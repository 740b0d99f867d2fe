"""All Python threads of one process at one moment, read without stopping it, each with how far it can be believed.

A thread that did not run between two looks at its switch counts was read exactly. One that did is read again, up to
three times in all; then the best reading is given as likely. A thread that has not run since it was last read exactly
is not read again.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..model.evidence.stacks import Frame, Local, LoopTask, PythonStacks, PythonThread, Stack, Trust
from . import callee, caught, frames, interpreter, loops, opening, tasks
from .code import CodeReader, NotCode, frame_of
from .coroutines import Coroutines
from .frames import RawFrame
from .interpreter import Lock, ThreadState
from .loops import Loops
from .names import Names
from .objects import Objects
from .runtime import Families, Family, Runtime, UnknownLayout
from .source import Pages, Unreadable
from .tasks import Task
from .values import Values

ATTEMPTS = 3
ENGINE = "memory"


@dataclass(frozen=True)
class Wanted:
    """What to read besides the frames, and where threads stand in futex calls, by their ids (for who waits for the GIL).

    Without ``locals`` only those are read that tell which rank a process is.
    """

    locals: bool = True
    strings: bool = False
    futexes: Mapping[int, int] = field(default_factory=dict)


# The tasks of some event loops, each with how many were left out.
Waiting = tuple[tuple[tuple[LoopTask, ...], int], ...]


@dataclass(frozen=True)
class Seen:
    """A process as it was read, and how the kernel counted its threads right after."""

    tasks: Mapping[int, Task]
    stacks: PythonStacks


@dataclass(frozen=True)
class Draft:
    """One thread as read once; ``whole`` when its chain of frames came to a regular end and every frame has code."""

    stack: Stack
    whole: bool
    name: str | None = None
    locals: tuple[Local, ...] = ()
    loop: int = 0  # its event loop, where that waits
    caught: tuple[str, int] = ("", 0)


EMPTY = Draft(Stack(), False)


def read(
    proc: str,
    pid: int,
    families: Families,
    wanted: Wanted,
    looked: Mapping[int, Task] | None = None,
    before: Seen | None = None,
) -> Seen:
    """Read one process; ``looked`` is how the kernel counted its threads a moment ago, ``before`` the last reading.

    Raises OSError as the kernel does, NoInterpreter, or UnknownLayout.
    """
    looked = tasks.renewed(proc, pid, looked)
    kept = _still(before, looked)
    if before is not None and len(kept) == len(before.stacks.threads) and looked.keys() == before.tasks.keys():
        natives = looked.keys() - kept.keys()
        if all(tasks.slept(before.tasks.get(tid), looked[tid]) for tid in natives):
            return Seen(looked, before.stacks)
    waiting = _still_tasks(before, kept)
    with opening.memory_of(proc, pid, looked) as memory:
        pages, family = Pages(memory), families.of(proc, pid, memory)
        found = family.runtime
        states = interpreter.living(pages, found.layout, found.address, looked) if found else {}
        if found is None or not states:
            found, states = opening.find(proc, memory, pages, looked)
            if not states:
                return Seen(looked, PythonStacks((), ENGINE, found.version, finalizing=True))
            family.runtime = found
        return _Reading(proc, pid, pages, family, found, wanted).all(states, looked, kept, waiting)


def _still(before: Seen | None, looked: Mapping[int, Task]) -> dict[int, PythonThread]:
    """Threads that were read exactly and have not run since."""
    threads = before.stacks.threads if before else ()
    return {
        thread.tid: thread
        for thread in threads
        if thread.tid is not None
        and thread.trust is Trust.EXACT
        and before is not None
        and tasks.slept(before.tasks.get(thread.tid), looked.get(thread.tid))
    }


def _still_tasks(before: Seen | None, kept: Mapping[int, PythonThread]) -> Waiting:
    """The tasks of the loops of those threads."""
    known = before.stacks.loop_tasks if before else ()
    found = tuple(task for task in known if task.tid in kept)
    return ((found, before.stacks.tasks_left_out),) if before and found else ()


class _Reading:
    """One process while it is being read."""

    def __init__(self, proc: str, pid: int, memory: Pages, family: Family, found: Runtime, wanted: Wanted) -> None:
        self._proc, self._pid, self._memory = proc, pid, memory
        self._found, self._layout, self._wanted = found, found.layout, wanted
        self._objects = Objects(self._memory, found.layout, family.static_types, family.words)
        self._codes = CodeReader(self._objects, family.codes)
        self._names = Names(self._objects, family)
        self._values = Values(self._objects, wanted.strings, wanted.locals, family.telling)
        self._loops = Loops(self._objects, Coroutines(self._objects, self._codes))
        self._met: dict[tuple[object, ...], Frame] = {}
        self._left = frames.ALL_FRAMES_LIMIT

    def all(
        self, states: Mapping[int, ThreadState], looked: Mapping[int, Task], kept: Mapping[int, PythonThread],
        waiting: Waiting,
    ) -> Seen:  # fmt: skip
        """Read all threads but those kept, and again those that ran meanwhile."""
        drafts = {tid: self._draft(state) for tid, state in states.items() if tid not in kept}
        lock = self._lock(states)
        suspended = {tid: self._suspended(tid, states[tid], draft) for tid, draft in drafts.items()}
        after = tasks.read(self._proc, self._pid)
        exact = {tid: after[tid] for tid in drafts if tasks.slept(looked.get(tid), after.get(tid))}
        self._check([drafts[tid] for tid in exact])
        exact = {tid: task for tid, task in exact.items() if drafts[tid].whole}
        for tid in drafts.keys() - exact.keys():
            suspended[tid] = self._retry(states[tid], tid, drafts, exact)
        waiting = (*waiting, *(suspended[tid] for tid in suspended if tid in exact))
        threads = [
            kept.get(tid) or self._thread(tid, drafts[tid], tid in exact, after.get(tid))
            for tid in states
            if tid in after
        ]
        sure = {tid: looked[tid] for tid in kept}
        return Seen({**after, **exact, **sure}, self._stacks(threads, states, lock, waiting))

    def _draft(self, state: ThreadState) -> Draft:
        """Read one thread once."""
        try:
            innermost = frames.top(self._memory, self._layout, state.frame)
            chain = frames.walk(self._memory, self._layout, innermost, min(self._left, frames.FRAMES_LIMIT))
            self._left -= len(chain.frames)
            raws = chain.frames[::-1]
            stack = Stack(map(self._frame, raws))
        except (Unreadable, NotCode, struct.error):
            return EMPTY
        name = self._names.of(state, raws[0] if raws else None, stack[0] if stack else None)
        place = loops.waits_in(stack)
        held = tuple(self._values.of(raws, stack, self._codes))
        called = callee.of(self._objects, raws[-1], self._codes.at(raws[-1].code)) if raws else None
        loop = self._loops.loop_of(raws[place]) if place is not None else called.loop if called else 0
        return Draft(Stack((*stack, called.frame)) if called else stack, chain.whole, name, held, loop,
                     caught.of(self._objects, state.address))  # fmt: skip

    def _frame(self, raw: RawFrame) -> Frame:
        """A frame decoded; threads of one pool, and the levels of a recursion, stand at the same places."""
        frame = self._met.get(raw[1:])
        if frame is None:
            frame = self._met[raw[1:]] = frame_of(self._layout, self._codes.at(raw.code), raw.instruction)
        return frame

    def _check(self, exact: list[Draft]) -> None:
        """Refuse a layout under which no thread that stood still can be read.

        One alone may stand in a page fault with its frames half linked; that is no reason to doubt the others.
        """
        if exact and not any(draft.whole for draft in exact):
            raise UnknownLayout("the frames of threads that stood still cannot be followed")

    def _suspended(self, tid: int, state: ThreadState, draft: Draft) -> tuple[tuple[LoopTask, ...], int]:
        """The tasks of the loop in whose wait a thread stands, and how many were left out."""
        return self._loops.read(tid, draft.loop, state.interpreter) if draft.loop else ((), 0)

    def _retry(
        self, state: ThreadState, tid: int, drafts: dict[int, Draft], exact: dict[int, Task]
    ) -> tuple[tuple[LoopTask, ...], int]:
        """Read a thread that ran again and again, each time between two looks of its own; give the tasks of its loop."""
        for _ in range(ATTEMPTS - 1):
            before = tasks.read(self._proc, self._pid, (tid,))
            self._memory.forget()
            try:
                state, _ = interpreter.thread(self._memory, self._layout, state.address)
                alive = interpreter.find_native(self._memory, state, frozenset(task.inner for task in before.values()))
            except Unreadable:
                alive = 0
            if not alive:
                break
            self._codes.forget()
            self._met.clear()
            draft = self._draft(state)
            suspended = self._suspended(tid, state, draft)
            after = tasks.read(self._proc, self._pid, (tid,))
            if draft.whole or not drafts[tid].whole:
                drafts[tid] = draft
            if draft.whole and tasks.slept(before.get(tid), after.get(tid)):
                exact[tid] = after[tid]
                return suspended
        return (), 0

    def _thread(self, tid: int, draft: Draft, exact: bool, task: Task | None) -> PythonThread:
        return PythonThread(
            tid,
            draft.stack if draft.whole else Stack(),
            draft.name,
            Trust.EXACT if exact else Trust.LIKELY,
            active=task.state == "R" if task else None,
            locals=draft.locals if draft.whole else (),
            comm=task.comm or None if task and not draft.name else None,
            handles=draft.caught[0] if draft.whole else "",
            errno=draft.caught[1] if draft.whole else 0,
        )

    def _lock(self, states: Mapping[int, ThreadState]) -> Lock | None:
        first = next(iter(states.values()), None)
        if first is None:
            return None
        return interpreter.lock(self._memory, self._layout, self._found.address, first.interpreter)

    def _stacks(
        self, threads: list[PythonThread], states: Mapping[int, ThreadState], lock: Lock | None, waiting: Waiting
    ) -> PythonStacks:
        holder = next((tid for tid, state in states.items() if lock and state.address == lock.holder), None)
        inside = range(lock.address, lock.address + lock.size) if lock else range(0)
        return PythonStacks(
            tuple(replace(each, holds_gil=True) if each.tid == holder else _without(each) for each in threads),
            ENGINE,
            self._found.version,
            finalizing=interpreter.finalizing(self._memory, self._layout, self._found.address),
            gil_waiters=tuple(tid for tid in states if self._wanted.futexes.get(tid, -1) in inside),
            loop_tasks=tuple(task for tasks_of_one, _ in waiting for task in tasks_of_one),
            tasks_left_out=sum(left_out for _, left_out in waiting),
        )


def _without(thread: PythonThread) -> PythonThread:
    return replace(thread, holds_gil=False) if thread.holds_gil else thread
