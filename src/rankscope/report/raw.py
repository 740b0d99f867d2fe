"""One dump per thread with a header per process: the text that people paste, deepest frame first.

The layout is that of ``py-spy dump``, so that everything that reads those reads these, ``rankscope analyze`` included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..model.evidence.source import Place
from ..model.evidence.stacks import Frame, NativeStacks, PythonStacks, PythonThread
from ..model.process import Process
from .people import phrase
from .plain import clean


@dataclass(frozen=True)
class Shown:
    """What is shown of one process; ``version`` is that of its Python, ``source`` has lines of its own files by place."""

    process: Process
    stacks: PythonStacks | NativeStacks | None
    version: str | None = None
    locals: bool = False
    source: Mapping[Place, tuple[str, ...]] | None = None


def render(shown: Shown) -> str:
    """All threads of one process, ending in an empty line."""
    return "\n".join((*_head(shown), "", *_threads(shown))) + "\n"


def _head(shown: Shown) -> Iterator[str]:
    process = shown.process
    yield clean(f"Process {process.ref.pid}: {' '.join(process.command) or process.comm}")
    yield clean(f"Python v{shown.version or process.python or '?'} ({process.executable or 'executable unknown'})")
    yield clean(f"This is {phrase([process])} on {process.ref.host}")


def _threads(shown: Shown) -> Iterator[str]:
    if shown.stacks is None:
        yield "no stacks: see the reasons below"
    for thread in (*shown.stacks.threads, *_tasks(shown.stacks)) if shown.stacks else ():
        yield _title(thread)
        for depth in range(len(thread.stack) - 1, -1, -1):
            frame = thread.stack[depth]
            yield clean(f"    {_frame(frame)}")
            if shown.locals:
                yield from _locals(thread, depth)
            if shown.source:
                lines = shown.source.get(Place(shown.process.ref, frame.file, frame.line), ())
                yield from (f"            {clean(line, 200)}" for line in lines)
        yield ""
    if isinstance(shown.stacks, PythonStacks) and shown.stacks.tasks_left_out:
        yield f"tasks of event loops that were not read: {shown.stacks.tasks_left_out}"


def _tasks(stacks: PythonStacks | NativeStacks) -> Iterator[PythonThread]:
    """The suspended tasks of event loops, shown as threads that nothing runs."""
    for task in stacks.loop_tasks if isinstance(stacks, PythonStacks) else ():
        yield PythonThread(None, task.stack, f"task {task.name}")


def _title(thread: PythonThread) -> str:
    status = ("active" if thread.active else "idle") + ("+gil" if thread.holds_gil else "")
    title = f"Thread {thread.tid if thread.tid is not None else '0x0'} ({status})"
    name = thread.name or thread.comm
    return clean(title + (f': "{name}"' if name else ""))


def _frame(frame: Frame) -> str:
    where = frame.file or frame.library or "?"
    return f"{frame.function} ({where}:{frame.line})" if frame.line else f"{frame.function} ({where})"


def _locals(thread: PythonThread, depth: int) -> Iterator[str]:
    held = [local for local in thread.locals if local.depth == depth]
    if held:
        yield "        Locals:"
        yield from (f"            {clean(local.name)}: {clean(local.value, 200)}" for local in held)
