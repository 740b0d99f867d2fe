"""Opening the memory of a process, and finding the interpreter in it whose threads are those that the kernel counts."""

from __future__ import annotations

from collections.abc import Mapping

from . import interpreter, runtime
from .interpreter import ThreadState
from .runtime import Runtime, UnknownLayout
from .source import Pages, ProcessMemory
from .tasks import Task

_GONE = ("Z", "X")


def memory_of(proc: str, pid: int, looked: Mapping[int, Task]) -> ProcessMemory:
    """Open the memory; when the main thread has exited, only its sisters lead to it."""
    alive = [tid for tid, task in looked.items() if task.state not in _GONE]
    if looked and not alive:
        raise ProcessLookupError(3, "the process has exited", f"{proc}/{pid}")
    return ProcessMemory(proc, pid if pid in alive or not alive else alive[0])


def find(
    proc: str, memory: ProcessMemory, pages: Pages, looked: Mapping[int, Task]
) -> tuple[Runtime, dict[int, ThreadState]]:
    """The first reading of the interpreter that fits what the kernel says of the process, and its threads; none of them where
    the interpreter has been taken down before the process ended."""
    tried: Runtime | None = None
    for tried in runtime.locate(proc, memory.pid, memory):
        pages.forget()
        states = interpreter.living(pages, tried.layout, tried.address, looked)
        if states or interpreter.ended(pages, tried.layout, tried.address):
            return tried, states
    what = f"Python {tried.version}" if tried else "a Python"
    raise UnknownLayout(f"the memory of this process does not look like {what} as we know it")
