"""``py-spy dump`` as text: with and without ``--native`` and ``--locals``, whole or the few frames somebody pasted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..model.evidence.stacks import Frame
from ..model.patterns import regex
from ..model.repeated import of_texts
from .building import Building
from .lines import Line
from .records import Quoted, Record, read_all

NAME = "py-spy dump"

_PROCESS = regex(r"^Process (\d{1,18}): ?(.*)$")
_RANK = regex(r"^This is rank (\d{1,18}) on \S+$")  # ``rankscope stacks --raw`` says so below the header
_PYTHON = regex(r"^Python v(\d+\.\d+[\w.+-]*)")
_THREAD = regex(r'^\s*Thread (0x[0-9a-fA-F]+|\d+)(?:/0x[0-9a-fA-F]+)? ?\(([a-z+]+)\)(?:: (?:"(.*)"|(.*?)))?:?\s{0,99}$')
_NOTE = r"(?:\s+(?:#|//|<-|←).*)?$"  # what somebody wrote behind a frame
_FRAME = regex(r"^\s+(?P<name>\S.*?) \((?P<file>[^()]*?(?:\([^()]*\)[^()]*?)??)(?::(?P<line>\d{1,18}))?\)" + _NOTE)
# Without a header only a Python file with a line, or a shared library, is taken for a frame: prose has parentheses too.
_BARE = regex(
    r"^\s{0,12}(?P<name>[\w<>.:~]+(?: \[[\w.]+\])?) \((?P<file>[\w./<>@+~ -]*(?:\.pyx?|>)(?=:)|[\w./@+-]*\.so(?:\.[\w.]*)?(?=\)))"
    r"(?::(?P<line>\d{1,18}))?\)" + _NOTE
)
# What was left out, or a native frame of which nothing but its address is known, as of the kernel's vdso.
_GAP = regex(r"^\s*(?:\.\.\.|…|\[\.\.\.\])\s*$|^\s+0x[0-9a-fA-F]{1,16}\s{0,9}$")
_LOCAL = regex(r"^\s{6,}(\.?\w+): (.*)$")
_SHOUT = regex(r"^\s+(?:Arguments|Locals):$")


class Reader:
    """Takes lines and yields a dump per thread."""

    def __init__(self) -> None:
        self._open: Building | None = None
        self._headed = False
        self._held = False  # what follows are the frame's variables
        self._pid: int | None = None
        self._command: str | None = None
        self._python: str | None = None
        self._rank: int | None = None
        self._order = 0
        self.quoted: Quoted | None = None

    def feed(self, line: Line) -> Iterator[Record]:
        text, self.quoted = line.text, None
        process, thread, version, rank = _heading(text)
        if process:
            yield from self.close()
            self._pid, self._command, self._order = int(process.group(1)), process.group(2) or None, self._order + 1
            self._rank = None
        elif thread:
            yield from self.close()
            self._start(line, thread)
        elif version:
            self._python = version.group(1)
        elif rank:
            self._rank = int(rank.group(1))
        elif not self._take(line):
            yield from self.close()

    def _start(self, line: Line, found: re.Match[str]) -> None:
        tid, status, quoted, bare = found.groups()
        self._headed = True
        self._open = Building(
            NAME, line, tid=None if tid.startswith("0x") else int(tid), name=(quoted or (bare or "").strip('"')) or None,
            pid=self._pid, rank=self._rank, python=self._python, command=self._command, active="active" in status,
            gil="gil" in status, order=self._order,
        )  # fmt: skip

    def _take(self, line: Line) -> bool:
        """Whether the line belongs to the open thread, or opens one without a header."""
        if self._open and self._held and self._variable(self._open, line.text):
            return True
        self._held = bool(self._open and _SHOUT.match(line.text))
        found = (_framed if self._open and self._headed else _bare)(line.text)
        if found:
            if self._open is None:
                self._headed = False
                self._open = Building(NAME, line, pid=self._pid, order=self._order)
            self._open.add(found)
            return True
        if self._open is None:
            return False
        return self._variable(self._open, line.text) or self._held or bool(_GAP.match(line.text))

    def _variable(self, one: Building, text: str) -> bool:
        local = _LOCAL.match(text)
        if local is not None:
            one.locals.append((len(one.frames) - 1, local.group(1), local.group(2)[:200]))
            self.quoted = Quoted.VARIABLE
        return local is not None

    @property
    def busy(self) -> bool:
        return self._open is not None

    @property
    def idle(self) -> bool:
        return self._open is None and not self._held

    def close(self) -> Iterable[Record]:
        done, self._open = self._open, None
        if done is not None and (done.frames or self._headed):
            return (done.done(),)
        return ()


@of_texts
def _heading(text: str) -> tuple[re.Match[str] | None, ...]:
    """What a line is the head of: a process, a thread, the interpreter, our own word of the rank."""
    return tuple(pattern.match(text) for pattern in (_PROCESS, _THREAD, _PYTHON, _RANK))


@of_texts
def _framed(text: str) -> Frame | None:
    """The frame of a line below a header."""
    found = _FRAME.match(text)
    return _frame(found) if found else None


@of_texts
def _bare(text: str) -> Frame | None:
    """The frame of a line without a header."""
    found = _BARE.match(text)
    return _frame(found) if found else None


def _frame(found: re.Match[str]) -> Frame:
    file, line = found["file"], int(found["line"] or 0)
    python = file.endswith((".py", ".pyx", ".pyc", ".ipynb")) or file.startswith("<") or (line and "." not in file)
    return Frame(found["name"], file if python or line else "", line, None if python else file or "?")


def hears(text: str) -> bool:
    """Whether a line means anything to an idle reader."""
    return any(pattern.match(text) for pattern in (_PROCESS, _THREAD, _PYTHON, _RANK, _BARE))


def read(text: str) -> Iterator[Record]:
    """All threads of a text."""
    return read_all(Reader(), text)
