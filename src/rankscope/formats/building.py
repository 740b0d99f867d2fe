"""A stack while its lines come in, and the dump it becomes."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..model.evidence.stacks import Frame, Local, PythonThread, Stack, Trust
from ..model.repeated import one_stack
from . import mangled
from .lines import Line
from .records import Dump

# More frames than this is recursion; the ends of such a stack say all.
FRAME_LIMIT = 2048


@dataclass
class Building:
    """Frames in the order of the text (``first`` says which end that is), and what the header said."""

    engine: str
    line: Line
    deepest_first: bool = True
    native: bool = False
    tid: int | None = None
    name: str | None = None
    pid: int | None = None
    rank: int | None = None
    python: str | None = None
    command: str | None = None
    active: bool | None = None
    gil: bool = False
    order: int = 0
    first: bool = False
    ident: str | None = None
    frames: list[Frame] = field(default_factory=list)
    locals: list[tuple[int, str, str]] = field(default_factory=list)

    def add(self, frame: Frame) -> None:
        if len(self.frames) < FRAME_LIMIT:
            self.frames.append(mangled.plain(frame))
        self.native = self.native or frame.library is not None

    def done(self) -> Dump:
        """The finished thread, root first."""
        last = len(self.frames) - 1
        frames = reversed(self.frames) if self.deepest_first else self.frames
        found = tuple(Local(last - at if self.deepest_first else at, name, value) for at, name, value in self.locals)
        thread = PythonThread(
            tid=self.tid, stack=one_stack(Stack(frames)), name=self.name, trust=Trust.REPORTED, holds_gil=self.gil,
            active=self.active, locals=found, ident=self.ident,
        )  # fmt: skip
        return Dump(
            thread, self.engine, self.line.number, self.native, self.pid if self.pid is not None else self.line.pid,
            self.rank if self.rank is not None else self.line.rank, host=self.line.host, python=self.python,
            command=self.command, order=self.order, first=self.first, local_rank=self.line.local_rank,
        )  # fmt: skip
