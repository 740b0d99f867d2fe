"""What every reader of Python stacks offers, whatever it is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..model.evidence.stacks import NativeStacks, PythonStacks
from ..model.evidence.threads import Threads
from ..model.gap import Gap, Why
from ..model.process import ProcessRef

# Why one reader has no stacks of a process of which another may know more; a refusal by the kernel is the same for all.
ANOTHER_MAY_KNOW = frozenset({Why.UNKNOWN_LAYOUT, Why.UNSUPPORTED, Why.MISSING, Why.FAILED})


@dataclass(frozen=True)
class StackOptions:
    """How much to read. Without ``locals`` only those that tell which rank a process is; ``strings`` lets string values
    of locals through, which may hold secrets."""

    locals: bool = True
    strings: bool = False
    native: bool = False
    pause: bool = False  # the user allowed to stop the process for a moment
    deadline_s: float = 5.0


class Engine(Protocol):
    """Reads the stacks of one process; never raises, never waits past its deadline.

    An engine lives for one probe and may keep what it learned (symbols, code objects) between calls. ``kernel`` is what
    the kernel said of the process just before; ``before`` what this engine read in the last sweep.
    """

    name: str

    def stacks(
        self, ref: ProcessRef, kernel: Threads | None, before: PythonStacks | None, options: StackOptions
    ) -> PythonStacks | NativeStacks | Gap: ...
