"""Backtraces of C debuggers: gdb (``bt``, ``thread apply all bt``, ``info threads``), gstack, pstack, eu-stack, lldb."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..model.evidence.stacks import Frame
from ..model.patterns import regex
from . import pybt
from .building import Building
from .lines import WORDS_LIMIT, Line
from .records import Quoted, Record, read_all

NAME = "gdb backtrace"

_HEAD = regex(
    r"^(?:\(lldb\) |Thread |\[Switching to thread|thread |TID |\s*\*? ?thread #|(?:Attaching to|PID|Process|Traceback) |"
    r"\[New LWP )"
)
_PLACE = regex(r"^(?:at|from) \S+$")
_LWP = regex(r"\bLWP (\d{1,18})")
_NUMBER = regex(r"^Thread (?:1\.)?(\d{1,18}) \(")
# gdbserver's ``Thread 4711.4712``, and a process without threads.
_OTHER_TID = regex(r"\((?:Thread \d{1,18}\.|process )(\d{1,18})\b")
_THREAD_NAME = regex(r'"([^"]*)"')
_TID = regex(r"^TID (\d{1,18})(?: \"?(.*?)\"?)?:$")
_LLDB_THREAD = regex(r"^\s*\*? ?thread #(\d{1,18})(?:[:,] tid = (\d+|0x[0-9a-f]+))?(?:.*?name = '([^']*)')?")
# People who shorten a stack leave the address out by three dots.
_FRAME = regex(r"^\s*(?:\(gdb\) )?#(\d{1,18})\s+(?:(?:0x[0-9a-fA-F]+|(?:\.{3}|…)(?=\s+in\s))\s+)?(?:in\s+)?(\S.*)$")
# What gdb writes in place of a function.
_MARK = r"<signal handler called>|<function called from gdb>"
_MARKED = regex(rf"^(?:{_MARK})$")
_BARE = regex(rf"^(?:[A-Za-z_~][\w:~.@<>,*&$-]*(?: const)?|{_MARK})$")
_LLDB_FRAME = regex(
    r"^\s*\*? ?frame #(\d{1,18}): (?P<address>0x[0-9a-fA-F]+)(?:$| (?P<library>\S+?)"
    r"(?:$|`(?P<name>.+?)(?: \+ \d+)?(?: at (?P<file>[^\s()]+?):(?P<line>\d{1,18})(?::\d+)?(?: \[\w+\])*)?$))"
)
_INFO = regex(
    r"^\*?\s*\d{1,18}(?:\.\d{1,18})?\s+(?:Thread 0x[0-9a-f]+ \(LWP (?P<lwp>\d{1,18})\)|Thread \d{1,18}\.(?P<tid>\d{1,18})|"
    r"LWP (?P<own>\d{1,18})|process (?P<pid>\d{1,18}))(?:\s+\"(?P<name>[^\"]*)\")?\s+(?P<call>[^\s\"].*)$"
)
_AT = regex(r"^(?P<call>.*?) at (?P<file>[^\s()]+):(?P<line>\d{1,18})(?::\d+)?$")
_FROM = regex(r"^(?P<call>.*?) from (?P<library>\S+)$")
# eu-stack: the library with -m, the source on a line of its own with -s.
_DASH = regex(r"^(?P<call>.*?) - (?P<library>/\S+|\S+\.so\S*)(?: (?P<file>\S+?):(?P<line>\d{1,18})(?::\d+)?)?$")
_BEHIND = regex(r"^(?P<call>.*\S) (?P<file>[^\s()]+\.\w+):(?P<line>\d{1,18})(?::\d+)?$")
_LEFT_OUT = ("...", "…", "[...]", "[…]")  # frames that somebody cut off
_ROW = regex(r"^\*?\s+\d{1,18}(?:\.\d{1,18})?\s+(?:Thread|LWP|process|AMDGPU Wave) ")  # of ``info threads``
_CUT = regex(r" \((?=[\w.]+=)")  # where arguments begin that a terminal cut off
_QUOTED = regex(r'"(?:[^"\\]|\\.)*"')
_LOCAL = regex(r"^(?: {8}|\s+[A-Za-z_]\w* = )")  # ``bt full``
# What stands between two frames of a stack and belongs to neither, or was torn from the first: words of gdb, wrapped lines.
MOST_BETWEEN = 40
_LLDB_ARGUMENTS = regex(r"\((?:(?:\w+|\(null\))=.{0,2000})?\)(?: const)?$")
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
        self._between = 0  # lines since the last frame that are none
        self._cut = False  # the last line says that frames were left out
        self.quoted: Quoted | None = None

    def feed(self, line: Line) -> Iterator[Record]:
        text, self.quoted = line.text, None
        frame = _FRAME.match(text)
        if frame and (not _comment(text) or self._goes_on(frame)):
            yield from self._next_frame(line, int(frame.group(1)), frame.group(2))
        elif lldb := _LLDB_FRAME.match(text):
            yield from self._next_frame(line, int(lldb.group(1)), None)
            self._add_lldb(lldb)
        elif _HEAD.match(text) or _INFO.match(text):
            yield from self.close()
            self._head(line)
        elif self._wraps(text):
            self._frame = f"{self._frame} {text.strip()}"
        else:
            self._flush()
            self._cut = self._open is not None and text.strip() in _LEFT_OUT
            self._between += not (self._cut or (text[:1].isspace() and text.strip()))
            if self._next == 0 or self._between > MOST_BETWEEN:
                yield from self.close()
            elif self._between == 0 and _LOCAL.match(text.expandtabs()):
                self.quoted = Quoted.VARIABLE

    def _wraps(self, text: str) -> bool:
        """Whether the frame goes on in this line: its arguments are not at their end, or it is indented and no local variable."""
        if self._frame is None or not text.strip() or _ROW.match(text) or len(self._frame) > WORDS_LIMIT:
            return False
        bare = _QUOTED.sub("", self._frame)
        open_ = bare.count("(") > bare.count(")")
        if text[:1].isspace():
            return open_ or not _LOCAL.match(text.expandtabs())
        more = open_ and ("=" in text or ")" in text)
        return more or _PLACE.match(text) is not None or bare.endswith((" at", " from"))

    def _goes_on(self, frame: re.Match[str]) -> bool:
        """Whether words without arguments are the next frame of the stack that is being read: people cut them off."""
        number, call = int(frame.group(1)), frame.group(2)
        if self._open is None or self._between:
            return self._open is not None and number == self._next and bool(_BARE.match(call))
        return number == self._next or (number > self._next and bool(_BARE.match(call)))

    def _head(self, line: Line) -> None:
        """What a line says of the thread or the process whose stack follows."""
        text = line.text
        if text.startswith("(lldb) "):
            self._listing = False
        elif found := _PID.match(text):
            self._listing = text.startswith("Process ")
            self._pid = int(found.group(1) or 0) or self._pid
            self._order += bool(self._numbers)
            self._numbers.clear()
        elif info := _INFO.match(text):
            number = info["lwp"] or info["tid"] or info["own"] or info["pid"]
            self._open = self._new(line, int(number), info["name"])
            self._frame = re.sub(r"^0x[0-9a-f]+ in ", "", info["call"])
        elif text.startswith(("Thread ", "[Switching to thread", "thread ")) and "most recent call" not in text:
            tid, name = _LWP.search(text) or _OTHER_TID.search(text), _THREAD_NAME.search(text)
            if tid:
                first = self._numbered(text) == 1
                self._open = self._new(line, int(tid.group(1)), name.group(1) if name else None)
                self._open.first = first
        elif tid_line := _TID.match(text):
            self._open = self._new(line, int(tid_line.group(1)), tid_line.group(2) or None)
        elif (lldb := _LLDB_THREAD.match(text)) and "#" in text:
            told = lldb.groups()
            self._count(int(told[0]))
            self._open = self._new(line, int(told[1], 0) if told[1] else None, told[2])

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
        again = number == 0 or (self._between > 0 and number != self._next) or (self._cut and number < self._next)
        self._cut = False
        if again and self._open is not None and self._open.frames:
            yield from self.close()
        if self._open is None:
            self._open = self._new(line, None, None)
        self._frame = None if call in _LEFT_OUT else call
        self._next, self._between = number + 1, 0

    def _add_lldb(self, found: re.Match[str]) -> None:
        assert self._open is not None
        library, name, file, number = found["library"], found["name"], found["file"], found["line"]
        inner = _LLDB_ARGUMENTS.sub("", (name or found["address"]).rpartition("[inlined] ")[2])
        self._open.add(Frame(inner[:500], file or "", int(number or 0), library or "?"))

    def _flush(self) -> None:
        call, self._frame = self._frame, None
        if call is not None and self._open is not None:
            pybt.add(self._open, parse_call(call))

    @property
    def busy(self) -> bool:
        return self._open is not None

    @property
    def idle(self) -> bool:
        return self._open is None and self._frame is None and self._next == 0 and self._between == 0

    def close(self) -> Iterable[Record]:
        self._flush()
        done, self._open = self._open, None
        self._next = self._between = 0
        self._cut = False
        return (done.done(),) if done is not None and done.frames and not self._listing else ()


def _comment(text: str) -> bool:
    """A ``#1`` of prose (an issue, a heading) rather than of a stack."""
    return not re.search(r"[(`]|\bfrom\b| - /|0x[0-9a-f]|\?\?|<built-in method ", text)


def parse_call(call: str) -> Frame:
    """``name (args) at file:line`` or ``name (args) from library`` as a frame."""
    call = call.strip()
    if mark := pybt.mark_of(call):
        return mark
    if python := _PY_FRAME.search(call):
        return Frame(python.group(3), python.group(1), int(python.group(2)))
    if _MARKED.match(call):
        return Frame(call, "", 0, "?")
    for pattern in (_AT, _FROM, _DASH, _BEHIND):
        if found := pattern.match(call):
            told = found.groupdict()
            library = told.get("library") or "?"
            return Frame(_name(told["call"]), told.get("file") or "", int(told.get("line") or 0), library)
    return Frame(_name(call), "", 0, "?")


def _name(call: str) -> str:
    """The function of a call: gdb writes its arguments behind a blank, C++ signatures have theirs before it."""
    head, blank, rest = _QUOTED.sub('""', call).strip().rpartition(" (")
    while blank and rest.count(")") - rest.count("(") > 1 and " (" in head:
        head, _, more = head.rpartition(" (")
        rest = more + " (" + rest
    if not (blank and rest.endswith(")")):
        cut = _CUT.search(call)
        head = call[: cut.start()] if cut else call
    return head.strip().removeprefix("- 1 ")[:500]


def hears(text: str) -> bool:
    """Whether a line means anything to an idle reader."""
    return any(pattern.match(text) for pattern in (_FRAME, _LLDB_FRAME, _HEAD, _INFO))


def read(text: str) -> Iterator[Record]:
    """All threads of a text."""
    return read_all(Reader(), text)
