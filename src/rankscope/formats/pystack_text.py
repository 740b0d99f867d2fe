"""``pystack remote`` and ``pystack core``: Python, native and hybrid stacks, root first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..model.evidence.stacks import Frame
from ..model.patterns import regex
from .building import Building
from .lines import Line
from .records import Quoted, Record, read_all

NAME = "pystack"

_HEAD = regex(r"^\s*Traceback for thread (\d{1,18})(?: \((.*?)\))? \[(.*?)\] \(most recent call last\):")
_FRAME = regex(
    r'^\s*\((?P<kind>C|Python)\) File "(?P<file>.*?)", line (?P<line>\d{1,9}|\?+), in (?P<name>.+?)(?: \((?P<library>[^()]*)\))?$'
)
_HELD = regex(r"^\s+(?:Arguments|Locals):$")
_LOCAL = regex(r"^ {8}([^\W\d]\w*): (.*)$")
_BREAKS = regex(r'^"(?:[^"]*$|.*[^"]$)')  # a text that does not end in its line
MOST_QUOTED = 200


class Reader:
    """Takes lines and yields a dump per thread."""

    def __init__(self) -> None:
        self._open: Building | None = None
        self._held = False  # what follows are the frame's variables, not its source
        self._quoting = (
            0  # for how many lines the text of a variable may go on: its line breaks are printed as they are
        )
        self.quoted: Quoted | None = None

    def feed(self, line: Line) -> Iterator[Record]:
        head, frame = _HEAD.match(line.text), _FRAME.match(line.text)
        self.quoted = None
        if head:
            yield from self.close()
            tid, name, state = head.groups()
            self._open = Building(NAME, line, deepest_first=False, tid=int(tid), name=name or None)
            self._open.gil = "Has the GIL" in state
        elif frame:
            self._open = self._open or Building(NAME, line, deepest_first=False)
            self._open.add(_frame(frame))
            self._held, self._quoting = False, 0
        elif self._open is None or not self._below_frame(self._open, line.text):
            yield from self.close()

    def _below_frame(self, one: Building, text: str) -> bool:
        """The source of a frame, or its variables under a word of their own."""
        if self._quoting:
            self._quoting = 0 if text.endswith('"') else self._quoting - 1
            self.quoted = Quoted.VARIABLE
            return True
        if _HELD.match(text):
            self._held = True
            return True
        if self._held and (local := _LOCAL.match(text)):
            one.locals.append((len(one.frames) - 1, local.group(1), local.group(2)[:200]))
            self._quoting = MOST_QUOTED if _BREAKS.match(local.group(2)) else 0
        if not text.startswith("        "):
            return False
        self.quoted = Quoted.VARIABLE if self._held else Quoted.SOURCE
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


def _frame(found: re.Match[str]) -> Frame:
    number = int(found["line"]) if found["line"].isdigit() else 0
    if found["kind"] == "Python":
        return Frame(found["name"], found["file"], number)
    return Frame(found["name"].removesuffix(" (inlined)"), found["file"].strip("?"), number, found["library"] or "?")


def hears(text: str) -> bool:
    """Whether a line means anything to an idle reader."""
    return any(pattern.match(text) for pattern in (_HEAD, _FRAME))


def read(text: str) -> Iterator[Record]:
    """All threads of a text."""
    return read_all(Reader(), text)
