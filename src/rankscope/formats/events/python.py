"""Python's tracebacks and exceptions, also chained, grouped, indented, in rich's panels or interleaved by source, and its warnings."""

# ruff: noqa: E501  (a pattern is one line, so that it can be compared with the format string it was made from)
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ...model.evidence.events import Event
from ...model.patterns import regex
from ..lines import Line
from ._table import Fields, event

NAME = "python"
NEEDLES = (
    "Traceback (most recent call last)",
    "Error",
    "Exception",
    "Interrupt",
    "Exit",
    'File "',
    "Timeout",
    "Warning",
    "NotFound",
    "Failed",
    "Logging error",
)

_HEAD = regex(r"(?P<indent>^[\s|+]*)(?![\s|+]).*?Traceback \(most recent call last\)(?::|(?P<panel> ─))")
_FRAME = regex(r'^[\s|+]*File "(?P<file>[^"]+)", line (?P<line>\d+|\?+)(?:, in (?P<name>.+?))?\s{0,99}$')
# rich.traceback: a panel with frames and the lines around each; a path that is too long for a line goes on in the next.
_PANEL_FRAME = regex(r"^\s*(?P<file>\S[^:]{0,4000}):(?P<line>\d+) in (?P<name>\S{1,400})\s*$")
_PANEL_PATH = regex(r"^\s*(?P<part>[/~]\S{0,1000})\s*$")
_PANEL_END = "╰"
_EXCEPTION = regex(
    r"^[\s|+]*(?:what\(\):\s+)?(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w{0,120}(?:Error|Exception|Interrupt|Exit|Timeout|"
    r"Expired|NotFound|Failure|Failed|Warning|Stop\w{0,40}|Group|Empty|Full|Killed|Died|Closed|Aborted|Unavailable|"
    r"NotMet))(?:\[[^\]]*\])?(?:: ?(?P<message>.*))?$"
)
_ANY = regex(r"^(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*)(?:: (?P<message>.*))?$")
_LOGGED = regex(
    r"\b(?P<type>(?:[A-Za-z_]\w{0,80}\.){0,12}[A-Z]\w{0,120}(?:Error|Exception|Interrupt|Timeout))(?:\[[^\]]*\])?: (?P<message>.*)$"
)
_WARNING = regex(r"(?P<type>[A-Z]\w{0,100}Warning): (?P<message>.*)$")
# What a finalizer, a generator that is closed or a hook raises reaches nobody: the interpreter writes it down and goes on
# (sys.unraisablehook; "while" and "on" since 3.13). So does logging with an error of its own handlers.
_IGNORED = regex(r"^(?:Exception ignored (?:in|while|on)\b:? ?(?P<where>.*)|--- Logging error ---\s*)$")
_NEXT = 4  # lines below it its traceback begins at the latest
# threading's excepthook, above the traceback of a thread that ends by it while the process goes on.
_IN_THREAD = regex(
    r"^(?:\S+ )?(?:Unhandled e|E)xception in (?:background )?thread (?P<thread>(?!MainThread\b)[^\n]{1,200}?):?\s*$"
)
_LOGGER_HEAD = regex(r"^(?:\w+ )?(?:\[?[A-Z]+\]?|[EWIF]\d{4}) .*?\w\.(?:py|cpp|cc):\d+\] ?")
_FRAMES_KEPT = 64
_LINES_MOST = 4000


@dataclass
class _Open:
    """One traceback while its lines come in."""

    head: Line
    indent: int
    panel: bool = False  # inside of one
    part: str = ""  # of a path
    ignored: bool = False  # by the interpreter
    thread: str = ""  # whose end it is, where threading says so
    frames: list[str] = field(default_factory=list)
    lines: int = 0

    def add(self, file: str, frame: re.Match[str]) -> None:
        """One more frame, while there is room."""
        if len(self.frames) < _FRAMES_KEPT * 2:
            self.frames.append(f"{file}:{frame['line']} {frame['name'] or ''}".rstrip())

    def in_panel(self, text: str) -> None:
        """A line of a panel: a frame, a part of one, the end, or code."""
        if frame := _PANEL_FRAME.match(text):
            self.add(self.part + frame["file"], frame)
        path = _PANEL_PATH.match(text)
        self.part = path["part"] if path else ""
        self.panel = not text.lstrip().startswith(_PANEL_END)


class Reader:
    """One open traceback per source of lines, so that interleaved ranks do not mix."""

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}
        self._ignored: dict[str, int] = {}  # by source, the line that says so
        self._threads: dict[
            str, tuple[int, str]
        ] = {}  # by source, the last thread that ended by an exception, and the line

    @property
    def busy(self) -> bool:
        return bool(self._open)

    def feed(self, line: Line) -> Iterator[Event]:
        text = _LOGGER_HEAD.sub("", line.text) if "] " in line.text else line.text
        if head := _HEAD.match(text):
            yield from self._cut(line.source)
            ignored = line.number - self._ignored.pop(line.source, -_NEXT) < _NEXT
            at, thread = self._threads.pop(line.source, (-_NEXT, ""))
            if len(self._open) < 65536:
                opened = _Open(line, len(head["indent"]), head["panel"] is not None, ignored=ignored)
                opened.thread = thread if line.number - at < _NEXT else ""
                self._open[line.source] = opened
        elif line.source in self._open:
            yield from self._inside(self._open[line.source], line, text)
        else:
            yield from self._outside(line, text)

    def _inside(self, open_: _Open, line: Line, text: str) -> Iterator[Event]:
        open_.lines += 1
        if open_.panel and open_.lines <= _LINES_MOST:
            open_.in_panel(text)
            return
        if frame := _FRAME.match(text):
            open_.add(frame["file"], frame)
            return
        bare = text.strip().strip("|").strip()
        if not bare or set(bare) <= set("^~ -+") or bare.startswith("[Previous line repeated"):
            return
        indent = len(text) - len(text.lstrip(" |"))
        found = _EXCEPTION.match(text) or (_ANY.match(text.strip()) if indent <= open_.indent else None)
        if found and (indent <= open_.indent + 1 or not open_.frames) and not _looks_like_code(text):
            del self._open[line.source]
            yield self._exception(line, found["type"], found["message"] or "", open_.frames, open_)
        elif (indent <= open_.indent and open_.frames) or open_.lines > _LINES_MOST:
            yield from self._cut(line.source)
            yield from self._outside(line, text)

    def _outside(self, line: Line, text: str) -> Iterator[Event]:
        if ignored := _IGNORED.match(text):
            if len(self._ignored) < 65536:
                self._ignored[line.source] = line.number
            yield event("python.ignored", line, {"where": ignored["where"] or ""})
        elif (thread := _IN_THREAD.match(text)) is not None and len(self._threads) < 65536:
            self._threads[line.source] = line.number, thread["thread"]
        elif found := _EXCEPTION.match(text.strip()) if not text[:1].isspace() else None:
            if found["type"].endswith("Warning"):
                yield event("python.warning", line, {"type": found["type"], "message": (found["message"] or "")[:2000]})
            elif found["message"] or "." in found["type"]:
                yield self._exception(line, found["type"], found["message"] or "", [], None)
        elif warning := _WARNING.search(text):
            yield event("python.warning", line, {"type": warning["type"], "message": warning["message"][:2000]})
        elif logged := _LOGGED.search(text):
            yield self._exception(line, logged["type"], logged["message"], [], None)

    def _exception(self, line: Line, kind: str, message: str, frames: list[str], open_: _Open | None) -> Event:
        fields: Fields = {"type": kind, "message": message[:2000]}
        if frames:
            fields["frames"] = tuple(frames[-_FRAMES_KEPT:])
        if open_ is not None:
            fields["began"] = open_.head.number
            if open_.thread:
                fields["thread"] = open_.thread
        return event("python.ignored" if open_ is not None and open_.ignored else "python.exception", line, fields)

    def _cut(self, source: str) -> Iterator[Event]:
        """A traceback whose exception never came."""
        open_ = self._open.pop(source, None)
        if open_ is not None and open_.frames and not open_.ignored:
            yield event("python.traceback", open_.head, {"frames": tuple(open_.frames[-_FRAMES_KEPT:])})

    def close(self) -> Iterable[Event]:
        return tuple(item for source in list(self._open) for item in self._cut(source))


def _looks_like_code(text: str) -> bool:
    return text.rstrip().endswith(("(", ",", "\\", "):")) and not re.match(r"^\S*(?:Error|Exception)\b", text.strip())
