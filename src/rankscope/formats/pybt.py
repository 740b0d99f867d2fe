"""gdb's ``py-bt`` (libpython.py): Python frames, deepest first, with the source line below each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..model.evidence.events import Event
from ..model.evidence.stacks import Frame
from ..model.patterns import regex
from .building import Building
from .lines import Line
from .records import Quoted, Record, read_all

NAME = "gdb py-bt"

_HEAD = regex(r"^\s*(?:\(gdb\) )?Traceback \(most recent call first\):")
_FRAME = regex(r'^\s*(?:#\d+ +)?File "(?P<file>[^"]+)", line (?P<line>\d{1,18}), in (?P<name>\S+)')
_BUILTIN = regex(r"^\s*<built-in method (\w+)(?: of (?P<owner>[\w.]+))?")
# Extension modules whose methods gdb shows by the type of their object.
_OWNERS = {
    "mpi4py": "mpi4py/MPI.pyx", "_thread": "threading.py", "thread": "threading.py", "_queue": "queue.py",
    "_multiprocessing": "multiprocessing/synchronize.py",
}  # fmt: skip
_LOCKS = {"threading.py", "multiprocessing/synchronize.py"}
_CALLERS = regex(r"(?:^|/)(?:threading\.py|multiprocessing/\w+\.py)$")
_GIL = regex(r"^\s*Waiting for (?:the GIL|a lock \((.*)\))")
_THREAD = regex(
    r"^(?:\(gdb\) )?\[?(?P<head>Thread|Switching to thread) [\d.]+ "
    r"\(.*?\bLWP (?P<tid>\d{1,18})\)?(?: \"(?P<name>[^\"]*)\")?\)"
)
_PROCESS = regex(
    r"^(?:\(gdb\) )?(?:Attaching to (?:program: .*, )?process (?P<pid>\d{1,18})\b|\[Inferior \d+ \(process \d+\) detached)"
)
_IMPORT = regex(r"^\s{0,200}(?:import \w|from [.\w]{1,200} import\b)")
_GC = regex(r"^\s*Garbage-collecting")


class Reader:
    """Takes lines and yields a dump per backtrace."""

    def __init__(self) -> None:
        self._open: Building | None = None
        self._selected: tuple[int | None, str | None] = (None, None)  # the thread that gdb switched to
        self._applied: tuple[int | None, str | None] | None = None  # the one that ``thread apply`` shows next
        self._pid: int | None = None
        self._order = 0
        self._source = False  # the next line may be the source of the frame above
        self.quoted: Quoted | None = None

    def feed(self, line: Line) -> Iterator[Record]:
        text, source = line.text, self._source
        self.quoted, self._source = None, False
        if _HEAD.match(text):
            yield from self.close()
            self._open = self._new(line)
            return
        self._whose(text)
        mark = self._mark(text)
        if mark is not None:
            self._open = self._open or self._new(line)
            self._open.add(mark)
        elif self._open and (frame := _FRAME.match(text)):
            add(self._open, Frame(frame["name"], frame["file"], int(frame["line"])))
            self._source = True
        elif not (self._open and text[:1].isspace() and text.strip()):
            yield from self.close()
        elif source:
            self.quoted = Quoted.SOURCE
            yield from self._imports(line, self._open)

    def _whose(self, text: str) -> None:
        """Note what a line says of the thread or the process whose stack follows."""
        self._applied = None
        if found := _THREAD.match(text):
            told = int(found["tid"]), found["name"]
            if found["head"] == "Thread":
                self._applied = told
            else:
                self._selected = told
        elif process := _PROCESS.match(text):
            self._pid = int(process["pid"]) if process["pid"] else self._pid
            self._selected = (None, None)
            self._order += 1

    def _new(self, line: Line) -> Building:
        tid, name = self._applied or self._selected
        self._applied = None
        return Building(NAME, line, tid=tid, name=name, pid=self._pid, order=self._order)

    def _imports(self, line: Line, stack: Building) -> Iterator[Record]:
        """The source of the innermost frame, where it is an import: that a thread waits below it for a module, no frame of
        Python 2 tells."""
        lines = [frame.line for frame in stack.frames if frame.line]
        if len(lines) == 1 and _IMPORT.match(line.text):
            source = line.text.strip()[:500]
            yield Event(
                "python.source_line", line=line.number, rank=line.rank, pid=stack.pid or line.pid, text=source,
                fields={"number": lines[0], "source": source},
            )  # fmt: skip

    def _mark(self, text: str) -> Frame | None:
        mark = mark_of(text)
        if mark is None and _GC.match(text) and self._open:
            return Frame("Garbage-collecting", "<gc>")
        return mark

    @property
    def busy(self) -> bool:
        return self._open is not None

    @property
    def idle(self) -> bool:
        return self._open is None and self._applied is None and not self._source

    def close(self) -> Iterable[Record]:
        done, self._open = self._open, None
        return (done.done(),) if done is not None and done.frames else ()


def add(one: Building, frame: Frame) -> None:
    """Put a frame to a stack. What a lock is taken for inside of the standard library, as in every wait for a condition, its own
    frames tell."""
    inner = one.frames[-1:]
    if inner and not inner[0].line and inner[0].file in _LOCKS and _CALLERS.search(frame.file):
        one.frames.pop()
    one.add(frame)


def mark_of(text: str) -> Frame | None:
    """What libpython.py shows of a frame that is not Python's."""
    if found := _BUILTIN.match(text):
        owner = (found["owner"] or "").split(".")[0]
        return Frame(found.group(1), _OWNERS.get(owner, "<built-in>"))
    return Frame("Waiting for the GIL", "<gil>") if _GIL.match(text) else None


def hears(text: str) -> bool:
    """Whether a line means anything to an idle reader."""
    return any(pattern.match(text) for pattern in (_HEAD, _THREAD, _PROCESS, _BUILTIN, _GIL))


def read(text: str) -> Iterator[Record]:
    """All backtraces of a text."""
    return read_all(Reader(), text)
