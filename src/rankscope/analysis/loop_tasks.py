"""The tasks of a process's event loops: what each waits for, and which of them wait for each other in a circle."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from ..model.evidence.stacks import Frame, LoopTask, PythonStacks
from .case import Member
from .frame_tables import WaitKind
from .frames import WaitState, wait_of
from .identity import name_of
from .origin import module_path

# Any of several can end the wait for these; others need all that they wait for.
_ANY = ("Semaphore", "BoundedSemaphore")
_ANY_OF = ("asyncio/tasks.py", "_wait")
_TAKES = ("asyncio/queues.py", "get")


@dataclass(frozen=True)
class TaskView:
    """One task and what its frames say it waits for."""

    task: LoopTask
    wait: WaitState

    @property
    def wanted(self) -> bool:
        """Whether it waits to enter something that other tasks are inside of."""
        return self.wait.kind is WaitKind.LOCK

    @property
    def place(self) -> Frame:
        """The deepest frame of the job's own code, or the outermost where there is none."""
        return self.wait.user_frame or self.task.stack[0]


def loops(member: Member) -> tuple[tuple[TaskView, ...], ...]:
    """The tasks of each event loop that waits, at the last look that found one waiting."""
    return tuple(tasks for stacks in _looks(member)[-1:] for tasks in _by_loop(stacks))


def _looks(member: Member) -> tuple[PythonStacks, ...]:
    """The looks that tell of tasks; a loop that was at work just then tells nothing."""
    return tuple(one for one in member.over_time(PythonStacks) if one.loop_tasks)


def _by_loop(stacks: PythonStacks) -> tuple[tuple[TaskView, ...], ...]:
    """The tasks of each loop; of several that can end a wait, those that were not read may be the ones that do."""
    found: dict[int | None, list[TaskView]] = {}
    for one in stacks.loop_tasks:
        known = dataclasses.replace(one, on=()) if stacks.tasks_left_out and _of_several(one) else one
        found.setdefault(one.tid, []).append(TaskView(known, wait_of(one.stack)))
    return tuple(map(tuple, found.values()))


def circle(tasks: Sequence[TaskView]) -> tuple[TaskView, ...]:
    """Tasks that wait for each other and for nobody else who could end it, in the order of their waiting; else none.

    Left out of it is every task that set itself a time limit, and those that wait for one of these.
    """
    limited = _limited(tasks)
    held = {place for place, one in enumerate(tasks) if one.task.on and place not in limited}
    while True:
        caught = {place for place in held if _caught(tasks[place].task, held)}
        if caught == held:
            break
        held = caught
    return tuple(tasks[place] for place in _round(tasks, held))


def _limited(tasks: Sequence[TaskView]) -> set[int]:
    """The tasks that end when a time limit is over: their own, or that of a task which awaits them."""
    limited: set[int] = set()
    todo = [place for place, one in enumerate(tasks) if one.task.timed]
    while todo:
        place = todo.pop()
        if place not in limited:
            limited.add(place)
            todo.extend(() if tasks[place].wanted else tasks[place].task.on)
    return limited


def _caught(task: LoopTask, held: set[int]) -> bool:
    return (all if _of_several(task) else any)(one in held for one in task.on)


def _of_several(task: LoopTask) -> bool:
    """Whether each one of those that it waits for could end its wait."""
    last = task.stack[-1]
    return task.awaits in _ANY or (module_path(last.file), last.function) == _ANY_OF or takes(task)


def takes(task: LoopTask) -> bool:
    """Whether it waits for something that others put into a queue."""
    last = task.stack[-1]
    return name_of(last) == _TAKES


def _round(tasks: Sequence[TaskView], held: set[int]) -> list[int]:
    """From the first of those who are caught along what each waits for, until one comes again: from there it is a circle."""
    if not held:
        return []
    path = [min(held)]
    while True:
        following = next(one for one in tasks[path[-1]].task.on if one in held)
        if following in path:
            return path[path.index(following) :]
        path.append(following)


def same_circle(member: Member) -> bool:
    """Whether the tasks that wait for each other are the same at all looks that found the loop waiting.

    One such look is enough: without a time limit nothing but a cancellation from outside opens a circle again.
    """
    looks = _looks(member)
    found = [
        {(view.task.name, view.task.stack) for tasks in _by_loop(stacks) for view in circle(tasks)} for stacks in looks
    ]
    return all(one == found[0] for one in found) and any(found)


def last_awaited(tasks: Sequence[TaskView]) -> tuple[TaskView, ...]:
    """The tasks that others wait for and that wait for none of them: what they wait for must come from elsewhere."""
    awaited = {place for one in tasks for place in one.task.on}
    ends = [(place, one) for place, one in enumerate(tasks) if not one.task.on and one.wait.kind is not WaitKind.SLEEP]
    return tuple(one for place, one in ends if place in awaited) or tuple(one for _, one in ends)


_BRINGS = {
    WaitKind.LOCK: "a lock",
    WaitKind.CONDITION: "an event or condition",
    WaitKind.QUEUE: "a queue",
    WaitKind.SLEEP: "the end of a sleep",
    WaitKind.SOCKET: "a connection",
}


def awaited(view: TaskView) -> str:
    """What a task waits for, in words."""
    if view.wait.kind in _BRINGS:
        return _BRINGS[view.wait.kind]
    return {"": "nothing: it can run", "Future": "a future", "Task": "another task"}.get(view.task.awaits, "a future")
