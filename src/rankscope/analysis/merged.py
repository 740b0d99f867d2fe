"""The stacks of a job as trees: one per part that threads play, over all processes that have such a thread."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..model.evidence.stacks import NativeStacks, PythonStacks, PythonThread, Stack, Trust
from ..model.evidence.threads import KernelThread, Threads
from ..model.patterns import regex
from ..model.process import Process, Role
from .case import Case, Member
from .identity import birth, main_thread
from .tree import Node, build

MAIN = "main thread"
_NUMBER = regex(r"\d+")
_ORDER = (Role.RANK, Role.OTHER, Role.LAUNCHER)


@dataclass(frozen=True)
class Seen:
    """One thread of one process. ``cut`` counts the outermost frames that it inherited from its parent; ``deadline_s``
    is when the call in which its rank waits times out."""

    process: Process
    thread: PythonThread
    kernel: KernelThread | None = None
    cut: int = 0
    deadline_s: float | None = None


@dataclass(frozen=True)
class Section:
    """Threads that play the same part. The tree's rank sets hold positions in ``seen``, since not every process is a rank."""

    title: str
    role: Role
    seen: tuple[Seen, ...]
    tree: Node


def sections(case: Case, wanted: Callable[[Member], bool], native: bool = False) -> tuple[Section, ...]:
    """All threads of the wanted members, main threads of ranks first."""
    groups: dict[tuple[Role, str], list[Seen]] = {}
    for member in sorted(filter(wanted, case.members), key=_place):
        for title, seen in _threads(member, native):
            if title == MAIN and member.rank is not None and case.snapshot.live:
                seen = dataclasses.replace(seen, deadline_s=case.comparison.deadlines.get(member.rank))
            groups.setdefault((member.role, title), []).append(seen)
    made = [_section(role, title, tuple(seen)) for (role, title), seen in groups.items()]
    return tuple(sorted(made, key=_importance))


def _place(member: Member) -> tuple[bool, int, int, str, int]:
    process = member.process
    return (
        process.rank is None, process.rank or 0, -1 if process.worker is None else process.worker, process.ref.host,
        process.ref.pid,
    )  # fmt: skip


def _importance(section: Section) -> tuple[int, bool, int, str]:
    role = _ORDER.index(section.role) if section.role in _ORDER else len(_ORDER)
    return role, section.title != MAIN, -len(section.seen), section.title


def _threads(member: Member, native: bool) -> Iterator[tuple[str, Seen]]:
    stacks = member.latest(NativeStacks) if native else None
    python = member.latest(PythonStacks)
    chosen = stacks or python
    if chosen is None:
        return
    kernel = member.latest(Threads)
    tasks = {task.tid: task for task in kernel.threads} if kernel else {}
    main = main_thread(chosen, member.ref.pid) if isinstance(chosen, PythonStacks) else None
    for thread in chosen.threads:
        is_main = thread.tid == member.ref.pid or thread.name == "MainThread" or (thread is main and thread.tid is None)
        task = tasks.get(thread.tid) if thread.tid is not None else None
        title = MAIN if is_main else _title(thread, task)
        shown = dataclasses.replace(thread, stack=_named(thread.stack)) if stacks else thread
        yield title, Seen(member.process, shown, task, birth(shown.stack))
    for each in chosen.loop_tasks if isinstance(chosen, PythonStacks) else ():
        shown = PythonThread(None, each.stack, f"task {each.name}", Trust.EXACT)
        yield f"task {_NUMBER.sub('*', each.name)}", Seen(member.process, shown)


def _named(stack: Stack) -> Stack:
    """Without native frames that have no name: their addresses differ from process to process and say nothing."""
    return Stack(frame for frame in stack if frame.library is None or not frame.function.startswith(("0x", "?")))


def _title(thread: PythonThread, task: KernelThread | None) -> str:
    """Numbers differ from process to process; the part that a thread plays does not."""
    name = thread.name or (task.comm if task else "")
    return f"thread {_NUMBER.sub('*', name)}" if name else "thread without a name"


def _section(role: Role, title: str, seen: tuple[Seen, ...]) -> Section:
    return Section(title, role, seen, build((at, one.thread.stack[one.cut :]) for at, one in enumerate(seen)))


def stand_in(thread: PythonThread, of: Member, for_: Member) -> PythonThread:
    """A thread of one process, told as the same thread of another one with equal Python stacks."""
    if thread.tid == of.ref.pid:
        return dataclasses.replace(thread, tid=for_.ref.pid)
    mine, theirs = of.latest(PythonStacks), for_.latest(PythonStacks)
    known = next((one for one in mine.threads if one.tid == thread.tid), None) if mine else None
    same = (
        [one.tid for one in theirs.threads if known and (one.stack, one.name) == (known.stack, known.name)]
        if theirs
        else []
    )
    return dataclasses.replace(thread, tid=same[0] if same else None)


def alike(case: Case, wanted: Callable[[Member], bool]) -> list[tuple[Member, ...]]:
    """The wanted members by equal Python stacks of all their threads, the largest group first."""
    groups: dict[object, list[Member]] = {}
    for member in sorted(filter(wanted, case.members), key=_place):
        python = member.latest(PythonStacks)
        if python is not None:
            groups.setdefault(frozenset(thread.stack for thread in python.threads), []).append(member)
    return sorted(map(tuple, groups.values()), key=lambda group: -len(group))
