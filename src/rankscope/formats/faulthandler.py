"""The interpreter's own dumps: faulthandler (time-outs, signals) and ``Fatal Python error``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..model.evidence.events import Event
from ..model.evidence.stacks import Frame
from ..model.patterns import regex
from .building import Building
from .lines import Line
from .records import Record, read_all

NAME = "faulthandler"

_HEAD = regex(r"^\s*(Current thread|Thread) (0x[0-9a-fA-F]+)(?: \[([^\]]*)\])? \(most recent call first\):")
_FRAME = regex(r'^\s*File "(?P<file>[^"]+)",(?: line (?P<line>\d{1,18}|\?\?\?)(?P<comma>,?))? in (?P<name>\S+)\s*$')
_MARK = regex(r"^\s*(Garbage-collecting|<no Python frame>|<invalid frame>|\.\.\.)\s*$")
_FATAL = regex(r"^Fatal Python error: ([\w ]+?)(?:: (.*))?$")
_TIMEOUT = regex(r"^Timeout \((\d{1,18}):(\d\d):(\d\d)(?:\.\d+)?\)!")


class Reader:
    """Takes lines and yields a dump per thread, and an event for what triggered it."""

    def __init__(self) -> None:
        self._open: Building | None = None
        self._order = 0
        self._fatal = False  # what follows shows where it failed

    def feed(self, line: Line) -> Iterator[Record]:
        text = line.text
        if head := _HEAD.match(text):
            yield from self.close()
            self._open = Building(NAME, line, name=head.group(3), order=self._order, ident=head.group(2))
            # Of a dump on demand it is the one that the signal came to, which waits like others (signal(7)).
            self._open.active = True if self._fatal and head.group(1) == "Current thread" else None
        elif fatal := _FATAL.match(text):
            yield from self._trigger(line, "python.fatal", {"error": fatal.group(1), "message": fatal.group(2) or ""})
        elif timeout := _TIMEOUT.match(text):
            hours, minutes, secs = map(int, timeout.groups())
            yield from self._trigger(line, "python.dump_timeout", {"seconds": hours * 3600 + minutes * 60 + secs})
        elif not self._take(line):
            yield from self.close()

    def _trigger(self, line: Line, name: str, fields: dict[str, str | int]) -> Iterator[Record]:
        yield from self.close()
        self._fatal = name == "python.fatal"
        self._order += 1
        yield Event(name, line=line.number, rank=line.rank, pid=line.pid, host=line.host, text=line.text, fields=fields)

    def _take(self, line: Line) -> bool:
        frame, mark = _FRAME.match(line.text), _MARK.match(line.text)
        if frame and frame["comma"] != "" and self._open is None:
            frame = None  # a traceback's; below the head of a thread people write it with a comma too
        if not frame and not (mark and (self._open or mark.group(1) == "Garbage-collecting")):
            return False
        if self._open is None:
            self._open = Building(NAME, line, order=self._order)
        if frame:
            number = frame["line"] or ""  # left out by who shortened it
            self._open.add(Frame(frame["name"], frame["file"], int(number) if number.isdigit() else 0))
        elif mark and mark.group(1) == "Garbage-collecting":
            self._open.add(Frame("Garbage-collecting", "<gc>"))
        return True

    @property
    def busy(self) -> bool:
        return self._open is not None

    @property
    def idle(self) -> bool:
        return self._open is None

    def close(self) -> Iterable[Record]:
        done, self._open = self._open, None
        return (done.done(),) if done is not None else ()


def hears(text: str) -> bool:
    """Whether a line means anything to an idle reader."""
    return any(pattern.match(text) for pattern in (_HEAD, _FATAL, _TIMEOUT, _FRAME, _MARK))


def read(text: str) -> Iterator[Record]:
    """All threads of a text."""
    return read_all(Reader(), text)
