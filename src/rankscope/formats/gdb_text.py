"""Backtraces of C debuggers: gdb (``bt``, ``thread apply all bt``, ``info threads``), gstack, pstack, eu-stack, lldb."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..model.evidence.stacks import Frame
from ..model.patterns import regex
from .building import Building
from .lines import Line
from .records import Record, read_all

NAME = "gdb backtrace"

_LWP = regex(r"\bLWP (\d{1,18})")
_NUMBER = regex(r"^Thread (\d{1,18}) \(")
_THREAD_NAME = regex(r'"([^"]*)"')
_TID = regex(r"^TID (\d{1,18})(?: \"?(.*?)\"?)?:$")
_LLDB_THREAD = regex(r"^\s*\*? ?thread #(\d{1,18})(?:[:,] tid = (\d+|0x[0-9a-f]+))?(?:.*?name = '([^']*)')?")
_FRAME = regex(r"^\s*(?:\(gdb\) )?#(\d{1,18})\s+(?:0x[0-9a-fA-F]+\s+)?(?:in\s+)?(\S.*)$")
_BARE = regex(r"^(?:[A-Za-z_~][\w:~.@<>,*&$-]*(?: const)?|<signal handler called>|<function called from gdb>)$")
_LLDB_FRAME = regex(r"^\s*\*? ?frame #(\d{1,18}): 0x[0-9a-fA-F]+ (\S+?)`(.+?)(?: \+ \d+)?(?: at (\S+?):(\d{1,18}).*)?$")
_INFO = regex(
    r'^\*?\s*(\d{1,18})\s+(?:Thread|LWP|process) .*?(?:\(LWP (\d{1,18})\)|LWP (\d{1,18}))?\)?\s{0,8}(?:"([^"]*)")\s+(\S.*)$'
)
_AT = regex(r"^(?P<call>.*?) at (?P<file>[^\s()]+):(?P<line>\d{1,18})(?::\d+)?$")
_FROM = regex(r"^(?P<call>.*?) from (?P<library>\S+)$")
# eu-stack: the library with -m, the source on a line of its own with -s.
_DASH = regex(r"^(?P<call>.*?) - (?P<library>/\S+|\S+\.so\S*)(?: (?P<file>\S+?):(?P<line>\d{1,18})(?::\d+)?)?$")
_BEHIND = regex(r"^(?P<call>.*\S) (?P<file>[^\s()]+\.\w+):(?P<line>\d{1,18}):\d+$")
_LLDB_ARGUMENTS = regex(r"\((?:\w+=.{0,2000})?\)$")
_PY_FRAME = regex(r"Frame 0x[0-9a-f]+, for file (\S+), line (\d{1,18}), in (\S+)")
_PID = regex(
    r"^(?:Attaching to (?:program: .*, )?process|PID|Process(?= \d+ stopped)) (\d{1,18})\b|^\[New LWP (\d{1,18})\]"
)


class Reader:
    """Takes lines and yields a dump per thread; a frame that wraps goes on in the next line."""

    def __init__(self) -> None:
        self._open: Building | None = None
        self._frame: str | None = None
        self._pid: int | None = None
        self._order = 0
        self._next = 0  # the number of the frame that would come next
        self._numbers: set[int] = set()
        self._listing = False  # lldb says where it stopped, before anybody asks it for backtraces

    def feed(self, line: Line) -> Iterator[Record]:
        text = line.text
        frame = _FRAME.match(text)
        if frame and (not _comment(text) or self._goes_on(frame)):
            yield from self._next_frame(line, int(frame.group(1)), frame.group(2))
        elif lldb := _LLDB_FRAME.match(text):
            yield from self._next_frame(line, int(lldb.group(1)), None)
            self._add_lldb(lldb)
        elif self._frame is not None and text[:1].isspace() and text.strip() and not _INFO.match(text):
            self._frame += " " + text.strip()
        else:
            yield from self.close()
            yield from self._head(line)

    def _goes_on(self, frame: re.Match[str]) -> bool:
        """Whether a name without arguments is the next frame of the stack that is being read: people cut them off."""
        return self._open is not None and int(frame.group(1)) == self._next and bool(_BARE.match(frame.group(2)))

    def _head(self, line: Line) -> Iterator[Record]:
        text = line.text
        if text.startswith("(lldb) "):
            self._listing = False
        elif found := _PID.match(text):
            self._listing = text.startswith("Process ")
            self._pid = int(found.group(1) or 0) or self._pid
            self._numbers.clear()
        elif info := _INFO.match(text):
            tid = info.group(2) or info.group(3)
            self._open = self._new(line, int(tid) if tid else None, info.group(4))
            self._frame = re.sub(r"^0x[0-9a-f]+ in ", "", info.group(5))
        elif text.startswith(("Thread ", "[Switching to thread", "thread ")) and "most recent call" not in text:
            lwp, name = _LWP.search(text), _THREAD_NAME.search(text)
            if lwp:
                number = self._numbered(text)
                self._open = self._new(line, int(lwp.group(1)), name.group(1) if name else None)
                self._open.first = number == 1
        elif tid_line := _TID.match(text):
            self._open = self._new(line, int(tid_line.group(1)), tid_line.group(2) or None)
        elif (lldb := _LLDB_THREAD.match(text)) and "#" in text:
            told = lldb.groups()
            self._count(int(told[0]))
            self._open = self._new(line, int(told[1], 0) if told[1] else None, told[2])
        return iter(())

    def _numbered(self, text: str) -> int | None:
        """The thread's number in its dump."""
        found = _NUMBER.match(text)
        number = int(found.group(1)) if found else None
        if number is not None:
            self._count(number)
        return number

    def _count(self, number: int) -> None:
        """A number that comes again begins another dump."""
        if number in self._numbers:
            self._numbers.clear()
            self._order += 1
        self._numbers.add(number)

    def _new(self, line: Line, tid: int | None, name: str | None) -> Building:
        self._next = 0
        return Building(NAME, line, native=True, tid=tid, name=name or None, pid=self._pid, order=self._order)

    def _next_frame(self, line: Line, number: int, call: str | None) -> Iterator[Record]:
        self._flush()
        if number == 0 and self._open is not None and self._open.frames:
            yield from self.close()
        if self._open is None:
            self._open = self._new(line, None, None)
        self._frame = call
        self._next = number + 1

    def _add_lldb(self, found: re.Match[str]) -> None:
        assert self._open is not None
        _, library, name, file, number = found.groups()
        inner = _LLDB_ARGUMENTS.sub("", name.rpartition("[inlined] ")[2])
        self._open.add(Frame(inner[:500], file or "", int(number or 0), library))

    def _flush(self) -> None:
        call, self._frame = self._frame, None
        if call is not None and self._open is not None:
            self._open.add(parse_call(call))

    @property
    def busy(self) -> bool:
        return self._open is not None

    def close(self) -> Iterable[Record]:
        self._flush()
        done, self._open = self._open, None
        return (done.done(),) if done is not None and done.frames and not self._listing else ()


def _comment(text: str) -> bool:
    """A ``#1`` of prose (an issue, a heading) rather than of a stack."""
    return not re.search(r"[(`]|\bfrom\b| - /|0x[0-9a-f]|\?\?", text)


def parse_call(call: str) -> Frame:
    """``name (args) at file:line`` or ``name (args) from library`` as a frame."""
    call = call.strip()
    if python := _PY_FRAME.search(call):
        return Frame(python.group(3), python.group(1), int(python.group(2)))
    for pattern in (_AT, _FROM, _DASH, _BEHIND):
        if found := pattern.match(call):
            told = found.groupdict()
            library = told.get("library") or "?"
            return Frame(_name(told["call"]), told.get("file") or "", int(told.get("line") or 0), library)
    return Frame(_name(call), "", 0, "?")


def _name(call: str) -> str:
    """The function of a call: gdb writes its arguments behind a blank, C++ signatures have theirs before it."""
    head, blank, rest = call.strip().rpartition(" (")
    while blank and rest.count(")") - rest.count("(") > 1 and " (" in head:
        head, _, more = head.rpartition(" (")
        rest = more + " (" + rest
    return (head if blank and rest.endswith(")") else call).strip()[:500]


def read(text: str) -> Iterator[Record]:
    """All threads of a text."""
    return read_all(Reader(), text)
