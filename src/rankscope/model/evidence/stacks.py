"""Stacks of a process: Python frames, and native ones where somebody asked for them. Root first, always."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from . import evidence


class Trust(str, enum.Enum):
    """How far a stack can be believed."""

    EXACT = "exact"  # the thread did not run while it was read
    LIKELY = "likely"  # it ran, or we cannot tell; the frames may be torn
    REPORTED = "reported"  # another tool printed it


@dataclass(frozen=True)
class Frame:
    """One frame: qualified name where known, file as the code object has it, current line (0 = unknown).

    ``library`` is set for native frames only: the shared object they stand in.
    """

    function: str
    file: str
    line: int = 0
    library: str | None = None


# Where readers of native frames show the functions of mpi4py; our own reader shows them there as well.
MPI = "mpi4py/MPI.pyx"
UVLOOP = "uvloop/loop.pyx"


class Stack(tuple):  # type: ignore[type-arg]
    """Frames, root first. A tuple of its own type, because snapshots write equal ones once, and much is remembered of them: what
    it is found by is computed once."""

    _hash: int

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            self._hash = super().__hash__()
            return self._hash


_MOST_DIGITS = 100


@dataclass(frozen=True)
class Local:
    """One scalar local variable. ``depth`` counts frames from the root; ``value`` is its repr, cut to a sane length."""

    depth: int
    name: str
    value: str
    type: str = ""

    @property
    def number(self) -> int | None:
        """The value where it is a whole number, of no more digits than any counter has; the record may be a stranger's."""
        digits = self.value[1:] if self.value[:1] == "-" else self.value
        return int(self.value) if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS else None


@dataclass(frozen=True)
class PythonThread:
    """One Python thread. ``tid`` is the kernel's thread id in our pid namespace, None where the evidence lacks it; ``ident``
    is what a dump calls the thread then, the same in every dump of its process."""

    tid: int | None
    stack: Stack
    name: str | None = None
    trust: Trust = Trust.LIKELY
    holds_gil: bool = False
    active: bool | None = None  # on CPU at that moment, when the source says so
    locals: tuple[Local, ...] = ()
    comm: str | None = None  # what the kernel calls it, of a thread that Python has no name for
    handles: str = ""  # the type of the exception that is being handled around where it stands
    errno: int = 0  # the number that the system gave it, of an OSError
    ident: str | None = None


@dataclass(frozen=True)
class LoopTask:
    """One task of an asyncio event loop that has not ended, as its coroutines are suspended, the outermost first.

    ``awaits`` is the type of what the innermost one waits for, empty when it can run; ``on`` are the places, among the
    tasks of its loop, of those that it waits for: who holds the lock, the tasks awaited. ``timed``: it set itself a limit.
    """

    name: str
    stack: Stack
    tid: int | None = None  # the thread that runs its loop
    awaits: str = ""
    on: tuple[int, ...] = ()
    timed: bool = False


@evidence("python-stacks")
@dataclass(frozen=True)
class PythonStacks:
    """All Python threads of one process at one moment, and which engine read them."""

    threads: tuple[PythonThread, ...]
    engine: str
    python: str | None = None
    paused_ms: float = 0.0
    finalizing: bool = False  # the interpreter is shutting down
    gil_waiters: tuple[int, ...] = ()
    loop_tasks: tuple[LoopTask, ...] = ()  # of threads that stood in the wait of their event loop
    tasks_left_out: int = 0


@evidence("native-stacks")
@dataclass(frozen=True)
class NativeStacks:
    """C and C++ frames (with the Python frames between them where the engine gives both)."""

    threads: tuple[PythonThread, ...]
    engine: str
    paused_ms: float = 0.0
