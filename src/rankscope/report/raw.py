"""One dump per thread with a header per process: the text that people paste, deepest frame first.

The layout is that of ``py-spy dump``, so that everything that reads those reads these, ``rankscope analyze`` included.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.case import Member
from ..model.evidence.stacks import Frame, NativeStacks, PythonStacks, PythonThread
from ..model.evidence.threads import KernelThread, Threads
from ..model.evidence.versions import Versions
from .people import phrase
from .plain import clean
from .tree import Place


def render(
    member: Member, native: bool = False, show_locals: bool = False, source: dict[Place, tuple[str, ...]] | None = None
) -> str:
    """All threads of one process, ending in an empty line."""
    return "\n".join((*_head(member), "", *_threads(member, native, show_locals, source or {}))) + "\n"


def _head(member: Member) -> Iterator[str]:
    process = member.process
    yield clean(f"Process {process.ref.pid}: {' '.join(process.command) or process.comm}")
    versions = member.latest(Versions)
    python = member.latest(PythonStacks)
    version = (
        (python.python if python else None) or process.python or (versions.versions.get("python") if versions else None)
    )
    yield clean(f"Python v{version or '?'} ({process.executable or 'executable unknown'})")
    yield clean(f"This is {phrase([process])} on {process.ref.host}")


def _threads(member: Member, native: bool, show_locals: bool, source: dict[Place, tuple[str, ...]]) -> Iterator[str]:
    stacks = (member.latest(NativeStacks) if native else None) or member.latest(PythonStacks)
    kernel = member.latest(Threads)
    tasks = {task.tid: task for task in kernel.threads} if kernel else {}
    if stacks is None:
        yield "no stacks: see the reasons below"
    for thread in stacks.threads if stacks else ():
        task = tasks.get(thread.tid) if thread.tid is not None else None
        yield _title(thread, task)
        for depth in range(len(thread.stack) - 1, -1, -1):
            frame = thread.stack[depth]
            yield clean(f"    {_frame(frame)}")
            if show_locals:
                yield from _locals(thread, depth)
            yield from (
                f"            {clean(line, 200)}" for line in source.get((member.ref, frame.file, frame.line), ())
            )
        yield ""


def _title(thread: PythonThread, task: KernelThread | None) -> str:
    running = thread.active if thread.active is not None else (task.state == "R" if task else False)
    status = ("active" if running else "idle") + ("+gil" if thread.holds_gil else "")
    title = f"Thread {thread.tid if thread.tid is not None else '0x0'} ({status})"
    name = thread.name or (task.comm if task else None)
    return clean(title + (f': "{name}"' if name else ""))


def _frame(frame: Frame) -> str:
    where = frame.file or frame.library or "?"
    return f"{frame.function} ({where}:{frame.line})" if frame.line else f"{frame.function} ({where})"


def _locals(thread: PythonThread, depth: int) -> Iterator[str]:
    held = [local for local in thread.locals if local.depth == depth]
    if held:
        yield "        Locals:"
        yield from (f"            {clean(local.name)}: {clean(local.value, 200)}" for local in held)
