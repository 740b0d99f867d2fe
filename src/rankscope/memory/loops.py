"""The tasks of an asyncio event loop that waits: where each is suspended, what it awaits, and who could bring that.

Read only while a thread stands in the wait of its loop, since then none of its tasks runs. The loop is the first argument of
``_run_once``, or what a compiled ``run_forever`` was called on (see callee); the set of all tasks is in the module of tasks
(Lib/asyncio/base_events.py, tasks.py). In a task of C its coroutine is searched for by type; what it waits for lies before it,
its name behind it (Modules/_asynciomodule.c, the same order from CPython 3.8 to 3.13).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..model.evidence.stacks import Frame, LoopTask, Stack
from . import dicts, modules, scope
from .coroutines import Coroutines, Suspended, members
from .frames import RawFrame
from .objects import U32, U64, Objects, int_shape
from .source import Unreadable

TASKS_LIMIT = 256
NAMES_LIMIT = 512
_NAME_LIMIT = 100
_LOCKS_LIMIT = 16  # for which a holder is looked for among all tasks
_TASK_SIZE = 256
_NEWEST = (3, 13)
_LOOP = "/asyncio/base_events.py"
# Functions whose first argument holds the tasks that they wait for, and where: an attribute, or the argument itself.
_WAIT_FOR_MANY = {("/asyncio/taskgroups.py", "__aexit__"): "_tasks", ("/asyncio/tasks.py", "_wait"): ""}
# How the code of a task gives something back (asyncio/queues.py).
_PUTS = frozenset({"put", "put_nowait"})
_ACQUIRES = frozenset({"acquire"})
_NUMBERS = re.compile(r"(\d+)")


@dataclass(frozen=True)
class _Task:
    """A task as it lies in memory; ``held`` and ``wanted`` are addresses of what it has entered, and waits to enter.

    ``queue`` is the one from which it waits to take; ``puts`` says that its own code puts into a queue as well, ``of_job`` that
    it is in the job's code at all, and goes on with that some time.
    """

    address: int
    name: str
    chain: tuple[Suspended, ...]
    future: int
    held: tuple[int, ...]
    wanted: int
    queue: int = 0
    puts: bool = False
    of_job: bool = False


def waits_in(stack: Sequence[Frame]) -> int | None:
    """The place of the frame of an event loop that waits for something to happen, None for all other stacks."""
    for place in range(len(stack) - 1, max(len(stack) - 4, -1), -1):
        if stack[place].file.endswith(_LOOP) and stack[place].function.endswith("_run_once"):
            return place
    return None


def _may_fill(task: _Task, queue: int) -> bool:
    """Whether a task may put something into a queue for which another one waits that puts into it as well: one that does the
    same, or any other one in the job's code."""
    return task.puts if task.queue == queue else task.of_job


class Loops:
    """Reads the tasks of one process's event loops."""

    def __init__(self, objects: Objects, coroutines: Coroutines) -> None:
        self._objects, self._layout, self._coroutines = objects, objects.layout, coroutines
        self._at = 0  # where a task keeps its coroutine

    def loop_of(self, once: RawFrame) -> int:
        """The loop whose ``_run_once`` this is, 0 where it cannot be read."""
        try:
            return self._coroutines.argument(once)
        except (Unreadable, struct.error):
            return 0

    def read(self, tid: int, loop: int, interpreter: int) -> tuple[tuple[LoopTask, ...], int]:
        """The tasks of the loop in which a thread waits, and how many were left out; none where they cannot be read."""
        try:
            if self._layout.version > _NEWEST:
                return (), 0
            addresses, left_out = self._listed(interpreter)
            found = [task for task in map(self._task, addresses) if task and self._loop_of(task.address) == loop]
        except (Unreadable, struct.error):
            return (), 0
        found = self._acquired(found)
        found.sort(key=lambda task: [int(part) if part.isdigit() else part for part in _NUMBERS.split(task.name)])
        limited = {one for task in found for one in self._limited(task)}
        return tuple(self._told(tid, task, found, limited) for task in found), left_out

    def _acquired(self, tasks: list[_Task]) -> list[_Task]:
        """The tasks, with the locks that were acquired outright, without an ``async with``.

        Such a lock does not say whose it is. Of all tasks that do not wait for it, the only one whose code can reach it and
        acquires something is taken for its holder.
        """
        taken = {one for task in tasks for one in task.held}
        for lock in sorted({one.wanted for one in tasks} - taken - {0})[:_LOCKS_LIMIT]:
            able = [place for place, one in enumerate(tasks) if one.wanted != lock and self._may_hold(one, lock)]
            if len(able) == 1:
                tasks[able[0]] = replace(tasks[able[0]], held=(*tasks[able[0]].held, lock))
        return tasks

    def _may_hold(self, task: _Task, lock: int) -> bool:
        try:
            return any(self._uses(one, _ACQUIRES) and self._coroutines.reaches(one.raw, lock) for one in task.chain)
        except (Unreadable, struct.error):
            return False

    def _listed(self, interpreter: int) -> tuple[tuple[int, ...], int]:
        """The addresses of all tasks that the module of tasks knows."""
        objects, layout = self._objects, self._layout
        known = modules.namespace(objects, interpreter, "asyncio.tasks")
        name = "_all_tasks" if layout.version < (3, 12) else "_scheduled_tasks"
        every = dicts.lookup(objects, known, name, NAMES_LIMIT) if known else 0
        data = dicts.attribute(objects, every, "data") if every else 0
        if not data or self._coroutines.kind(data) != "set":
            return (), 0
        references, left_out = members(objects, data, TASKS_LIMIT)
        return tuple(objects.pointer(one + layout.weakref_object) for one in references), left_out

    def _loop_of(self, task: int) -> int:
        return self._objects.pointer(task + self._layout.object_type + 8)

    def _task(self, address: int) -> _Task | None:
        """A task that is suspended, None for one that has ended or is none."""
        try:
            at = self._coroutine_at(address)
            if not at:
                return None
            future, coroutine, name = struct.unpack("<3Q", self._objects.memory.read(address + at - 8, 24))
            chain = self._coroutines.chain(coroutine)
            if not chain:
                return None
            held, wanted = self._entered(chain)
            own = [one for one in chain if not scope.installed(one.frame.file)]
            queue = self._takes_from(chain[-1])
            puts = bool(queue) and any(self._uses(one, _PUTS) for one in own)
            serves = chain[-1].frame.function.endswith("serve_forever")  # until somebody cancels it
            return _Task(address, self._name(name), chain, future, held, wanted, queue, puts, bool(own) and not serves)
        except (Unreadable, struct.error):
            return None

    def _coroutine_at(self, address: int) -> int:
        """Where a task keeps its coroutine; 0 when it has none that we know."""
        raw = self._objects.memory.read_some(address, _TASK_SIZE)
        at: int
        for at in (self._at, *range(self._layout.object_type + 16, len(raw) - 16, 8)):
            if at and self._coroutines.is_one(int(U64(raw, at)[0])):
                self._at = self._at or at
                return at
        return 0

    def _name(self, address: int) -> str:
        """What a task is called; up to when somebody asks, newer ones keep only the number of an unnamed task."""
        if self._coroutines.kind(address) != "int":
            return self._objects.text(address, _NAME_LIMIT)
        raw = self._objects.memory.read(address, self._layout.int_digits + 8)
        digits = range(min(int_shape(self._layout, raw)[0], 2))
        return f"Task-{sum(U32(raw, self._layout.int_digits + 4 * place)[0] << 30 * place for place in digits)}"

    def _entered(self, chain: tuple[Suspended, ...]) -> tuple[tuple[int, ...], int]:
        """What a task holds, and what it still waits to enter or acquire."""
        held: list[int] = []
        for outer, inner in zip(chain, (*chain[1:], None)):
            held.extend(outer.entered)
            if inner and outer.entered and inner.frame.function.endswith("__aenter__"):
                held.pop()
        last = chain[-1]
        wants = last.frame.file.endswith("/asyncio/locks.py") and last.frame.function.endswith("acquire")
        return tuple(held), self._coroutines.argument(last.raw) if wants else 0

    def _takes_from(self, last: Suspended) -> int:
        """The queue from which a task waits to take something, 0 where it does not."""
        takes = last.frame.file.endswith("/asyncio/queues.py") and last.frame.function.endswith("get")
        return self._coroutines.argument(last.raw) if takes else 0

    def _uses(self, one: Suspended, names: frozenset[str]) -> bool:
        """Whether the code of a frame uses an attribute of one of these names; not where its names cannot be read."""
        try:
            return bool(names & self._coroutines.names(one.raw))
        except (Unreadable, struct.error):
            return False

    def _limited(self, task: _Task) -> Iterator[int]:
        """The tasks that a ``wait_for`` watches over; up to 3.11 it makes what it is given a task of its own."""
        last = task.chain[-1]
        if last.frame.file.endswith("/asyncio/tasks.py") and last.frame.function == "wait_for":
            try:
                yield from self._ends(self._coroutines.argument(last.raw))
            except (Unreadable, struct.error):
                return

    def _told(self, tid: int, task: _Task, everybody: list[_Task], limited: set[int]) -> LoopTask:
        awaits = self._coroutines.kind(task.wanted) or self._coroutines.kind(task.future).rpartition(".")[2]
        wanted = {task.wanted} - {0}
        awaited = set(self._awaited(task))
        on = (at for at, one in enumerate(everybody) if one.address in awaited or wanted.intersection(one.held))
        timed = task.address in limited or any(self._coroutines.kind(one) == "Timeout" for one in task.held)
        every = [(at, one) for at, one in enumerate(everybody) if task.puts and _may_fill(one, task.queue)]
        fillers = [at for at, one in every if one is not task] or [at for at, _ in every]
        stack = Stack(one.frame for one in task.chain)
        return LoopTask(task.name, stack, tid, awaits if awaits != "NoneType" else "", (*on, *fillers), timed)

    def _awaited(self, task: _Task) -> Iterator[int]:
        """The tasks that one waits for by name: itself, those gathered, those of its group."""
        objects, last = self._objects, task.chain[-1]
        try:
            yield from self._ends(task.future)
            for (file, function), name in _WAIT_FOR_MANY.items():
                if last.frame.file.endswith(file) and last.frame.function.endswith(function):
                    owner = self._coroutines.argument(last.raw)
                    owner = dicts.attribute(objects, owner, name) if name else owner
                    yield from members(objects, owner, TASKS_LIMIT)[0] if self._coroutines.kind(owner) == "set" else ()
        except (Unreadable, struct.error):
            return

    def _ends(self, future: int) -> Iterator[int]:
        """The future or task itself, and those that it gathers."""
        yield future
        if self._coroutines.kind(future) == "_GatheringFuture":
            objects = self._objects
            children = dicts.attribute(objects, future, "_children")
            count = min(objects.pointer(children + self._layout.sized_size), TASKS_LIMIT) if children else 0
            first = objects.pointer(children + self._layout.list_items) if count else 0
            yield from struct.unpack(f"<{count}Q", objects.memory.read(first, 8 * count)) if count else ()
