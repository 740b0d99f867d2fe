"""gdb's ``py-bt`` (libpython.py): Python frames, deepest first, with the source line below each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..model.evidence.stacks import Frame
from ..model.patterns import regex
from .building import Building
from .lines import Line
from .records import Record, read_all

NAME = "gdb py-bt"

_HEAD = regex(r"^\s*(?:\(gdb\) )?Traceback \(most recent call first\):")
_FRAME = regex(r'^\s*(?:#\d+ +)?File "(?P<file>[^"]+)", line (?P<line>\d{1,18}), in (?P<name>\S+)')
_BUILTIN = regex(r"^\s*<built-in method (\w+)(?: of (?P<owner>[\w.]+))?")
_OWNERS = {"mpi4py": "mpi4py/MPI.pyx"}  # extension modules whose methods gdb shows by the type of their object
_GIL = regex(r"^\s*Waiting for (?:the GIL|a lock \((.*)\))")
_GC = regex(r"^\s*Garbage-collecting")


class Reader:
    """Takes lines and yields a dump per backtrace."""

    def __init__(self) -> None:
        self._open: Building | None = None
        self._source = False  # the next line may be the source of the frame above

    def feed(self, line: Line) -> Iterator[Record]:
        text = line.text
        if _HEAD.match(text):
            yield from self.close()
            self._open = Building(NAME, line)
            return
        mark = self._mark(text)
        if mark is not None:
            self._open = self._open or Building(NAME, line)
            self._open.add(mark)
            self._source = False
        elif self._open and (frame := _FRAME.match(text)):
            self._open.add(Frame(frame["name"], frame["file"], int(frame["line"])))
            self._source = True
        elif not (self._open and text[:1].isspace() and text.strip()):
            yield from self.close()

    def _mark(self, text: str) -> Frame | None:
        if found := _BUILTIN.match(text):
            owner = (found["owner"] or "").split(".")[0]
            return Frame(found.group(1), _OWNERS.get(owner, "<built-in>"))
        if _GIL.match(text):
            return Frame("Waiting for the GIL", "<gil>")
        if _GC.match(text) and self._open:
            return Frame("Garbage-collecting", "<gc>")
        return None

    @property
    def busy(self) -> bool:
        return self._open is not None

    def close(self) -> Iterable[Record]:
        done, self._open = self._open, None
        return (done.done(),) if done is not None and done.frames else ()


def read(text: str) -> Iterator[Record]:
    """All backtraces of a text."""
    return read_all(Reader(), text)
