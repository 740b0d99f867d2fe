"""The files somebody names: directories walked in order, compressed ones and stdin opened, text streamed in bounded pieces."""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import io
import lzma
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, AnyStr, Protocol

from ..model.gap import Gap, Why
from . import packed
from .lines import LINE_LIMIT

# A file that fits into the buffer is read as it is; for a bigger one the sieve is worth its start.
BUFFER = 2 << 20
HEAD = 64 << 10
# No text is full of these; escape, tab and the line ends are not among them.
_CONTROL = bytes(byte for byte in range(32) if byte not in b"\t\n\v\f\r\x1b")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_LAYERS = 2  # more than once compressed is a log that was collected compressed, and compressed with all others
_SURE = 64  # bytes; fewer zeros may be chance
# What a file system that crashed leaves of blocks that were not written (ext4, XFS: the size is set, the data is not).
_UNWRITTEN = re.compile(rb"\0{16,}")
STDIN = "-"
# What damaged or cut-off compressed data raises.
BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError)

# The name of a file, how many bytes of it were read, and how many there are, where that is known.
Progress = Callable[[str, int, "int | None"], None]


class Stop(Protocol):
    """Takes note of Ctrl-C: the first one ends the reading, and what was read counts."""

    pressed: bool

    def press(self) -> None: ...


@dataclass(frozen=True)
class Source:
    """One file: ``name`` is how reports call it, ``path`` where it is (``-`` for stdin), ``data`` what a packed one holds, and
    ``lost`` why that is not all of it."""

    name: str
    path: str
    data: bytes | None = None
    lost: Gap | None = None


def sources(paths: Iterable[str | Path]) -> Iterator[Source]:
    """Every regular file behind the paths, directories in order of their names; links inside directories are not followed.

    An archive counts as a directory of what is packed in it.
    """
    for source in _files(paths):
        if packed.is_archive(source.name) or packed.holds_archive(source.path):
            yield from _packed(source)
        else:
            yield source


def _packed(archive: Source) -> Iterator[Source]:
    """What an archive holds; where it holds nothing, the file itself: it may be something else, whatever its name says."""
    lost, empty = None, True
    for member in packed.members(archive.path):
        name = f"{archive.name}/{member.name}" if member.name else archive.name
        lost = Gap(name, member.why, member.detail) if member.why is not None else None
        if member.name or not empty:
            yield Source(name, archive.path, member.data, lost)
            empty = False
    if empty:
        # Of one that is an archive indeed, all is told by what was lost.
        known = lost is not None and packed.begins_like_one(packed.begin(archive.path))
        yield Source(archive.name, archive.path, b"" if known else None, lost)


def _files(paths: Iterable[str | Path]) -> Iterator[Source]:
    """Every file once, by whatever ways the paths lead to it."""
    seen: set[str] = set()
    for source in _named(paths):
        real = os.path.realpath(source.path) if source.path != STDIN and source.lost is None else ""
        if not real or real not in seen:
            yield source
        seen.add(real)


def _named(paths: Iterable[str | Path]) -> Iterator[Source]:
    for given in paths:
        path = str(given)
        if path != STDIN and os.path.isdir(path):
            for folder, folders, files in os.walk(path):
                folders.sort()
                for file in sorted([*files, *(one for one in folders if os.path.islink(os.path.join(folder, one)))]):
                    full = os.path.join(folder, file)
                    if _regular(full):
                        yield Source(os.path.relpath(full, path), full)
                    elif (lost := _not_followed(full, path)) is not None:
                        yield Source(lost.what, full, b"", lost)
        else:
            yield Source(path, path)


def _not_followed(path: str, within: str) -> Gap | None:
    """What is missed of a link in a directory; None where it is none, or leads to what is in that directory anyway."""
    if not os.path.islink(path):
        return None
    name, there = os.path.relpath(path, within), os.path.realpath(path)
    if not os.path.exists(there):
        return Gap(name, Why.MISSING, "a link to what is not there")
    if os.path.commonpath([os.path.realpath(within), there]) == os.path.realpath(within):
        return None
    return Gap(name, Why.SKIPPED, "a link out of its directory is not followed", "name what it leads to")


def _regular(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


class Tap(io.RawIOBase):
    """A stream of bytes that tells how far it is, and ends where the data under it is damaged (``damage`` says how) or somebody
    presses Ctrl-C; ``busy`` while it waits for more."""

    def __init__(self, raw: Any, tell: Callable[[int], None] | None = None, stop: Stop | None = None) -> None:
        self._raw, self._tell, self._stop = raw, tell, stop
        self._done = 0
        self.damage: str | None = None
        self.busy = False

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        self.busy = True
        try:
            filled = self._fill(memoryview(into))
        finally:
            self.busy = False
        self._done += filled
        if self._tell is not None:
            self._tell(self._done)
        return filled

    def _fill(self, room: memoryview) -> int:
        """Fill the whole buffer at first: the first line that a slow pipe brings does not yet say what a text is."""
        filled = 0
        while filled < len(room) and self.damage is None and not (self._stop is not None and self._stop.pressed):
            try:
                piece = self._raw.read1(len(room) - filled)  # unlike read, it loses nothing before damage
            except BROKEN as error:
                self.damage = str(error) or type(error).__name__
                break
            except KeyboardInterrupt:
                if self._stop is None:
                    raise
                self._stop.press()
                break
            if not piece:
                break
            room[filled : filled + len(piece)] = piece
            filled += len(piece)
            if self._done:
                break
        return filled

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Kept(io.BufferedReader):
    """Standard input, which stays open."""

    def close(self) -> None:
        """Others may read on."""


@contextlib.contextmanager
def closed(stream: io.BufferedReader, tap: Tap) -> Iterator[None]:
    """Close a stream in the end, but for one that another thread waits for: it would have to be waited for as well."""
    try:
        yield
    finally:
        if not tap.busy:
            stream.close()


def open_source(
    source: Source, progress: Progress | None = None, stop: Stop | None = None
) -> tuple[io.BufferedReader, Tap]:
    """The bytes of a source, decompressed, which can be looked at with ``peek``; and the tap they come through."""
    if source.data is not None:
        raw: Any = io.BytesIO(source.data)
    elif source.path == STDIN:
        stdin: Any = sys.stdin.buffer
        # A thread that waits in the buffer of sys.stdin would abort the interpreter at its end.
        raw = _Kept(getattr(stdin, "raw", stdin), BUFFER)
    else:
        raw = _opened(source.path)
    plain = _unpacked(raw)
    damage = None
    try:
        for _ in range(_LAYERS):
            plain = _unpacked(plain) if isinstance(plain, _COMPRESSED) else plain
    except BROKEN as error:  # before its first byte; asked once more, it would call that its end
        damage = str(error) or type(error).__name__
    total = None if isinstance(plain, _COMPRESSED) else _size(source)
    tap = Tap(plain, None if progress is None else lambda done: progress(source.name, done, total), stop)
    tap.damage = damage
    stream: io.BufferedReader = io.BufferedReader(tap, BUFFER)
    _pass_zeros(stream)
    return stream, tap


def _opened(path: str) -> io.BufferedReader:
    """A file from its first written byte on: a log that was cut to nothing while its writer went on begins with a hole
    (copytruncate of logrotate(8))."""
    raw = open(path, "rb", buffering=0)  # noqa: SIM115
    try:
        os.lseek(raw.fileno(), 0, os.SEEK_DATA)
    except OSError as error:
        if error.errno == errno.ENXIO:  # nothing was ever written (lseek(2)); a pipe has no places at all
            os.lseek(raw.fileno(), 0, os.SEEK_END)
    return io.BufferedReader(raw, BUFFER)


def _pass_zeros(stream: io.BufferedReader) -> None:
    """Go past the zeros that such a hole becomes where its file is copied."""
    least = _SURE
    while (head := stream.peek()).startswith(bytes(least)):
        stream.read(len(head) - len(head.lstrip(b"\0")))
        least = 1


_COMPRESSED = (gzip.GzipFile, bz2.BZ2File, lzma.LZMAFile)


def _size(source: Source) -> int | None:
    """How many bytes a source has; None where nobody knows before they are read."""
    if source.data is not None:
        return len(source.data)
    return os.stat(source.path).st_size if source.path != STDIN and _regular(os.path.realpath(source.path)) else None


def _unpacked(raw: Any) -> Any:
    buffered: Any = raw if hasattr(raw, "peek") else io.BufferedReader(raw, BUFFER)
    magic = buffered.peek(6)[:6]
    if magic.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=buffered, mode="rb")
    if magic.startswith(b"BZh"):
        return bz2.BZ2File(buffered)
    if magic == b"\xfd7zXZ\x00":
        return lzma.LZMAFile(buffered)
    return buffered


def head_of(stream: IO[bytes]) -> bytes:
    """The first bytes, left in place."""
    try:
        return stream.peek(HEAD)[:HEAD]  # type: ignore[attr-defined,no-any-return]
    except BROKEN:
        return b""


def is_text(head: bytes) -> bool:
    """Whether bytes look like text of an encoding that has ASCII in it, or UTF-16."""
    if encoding_of(head) != "utf-8":
        return True
    written = _UNWRITTEN.sub(b"", head)
    return bool(written or not head) and len(written) - len(written.translate(None, _CONTROL)) <= len(written) // 50


def encoding_of(head: bytes) -> str:
    """The encoding of a text: UTF-16 where its mark says so, or where every other byte is zero and the rest is text."""
    if head[:2] in _UTF16_MARKS:
        return "utf-16"
    for name, zeros in (("utf-16-le", head[1::2]), ("utf-16-be", head[::2])):
        if len(head) >= _SURE and zeros.count(0) > len(zeros) * 0.9:
            other = head[::2] if name.endswith("le") else head[1::2]
            return name if len(other) - len(other.translate(None, _CONTROL)) <= len(other) // 50 else "utf-8"
    return "utf-8"


def is_by_lines(head: bytes) -> bool:
    """Whether a text can be cut at its newlines as it is: neither UTF-16, nor one whose lines end in a return alone."""
    return encoding_of(head) == "utf-8" and (b"\n" in head or b"\r" not in head)


def text_lines(stream: IO[bytes]) -> Iterator[str]:
    """Lines decoded as UTF-8 or UTF-16, what is neither kept as replacement characters; long lines are cut."""
    head = head_of(stream)
    if not is_by_lines(head):
        with io.TextIOWrapper(stream, encoding_of(head), errors="replace") as text:  # any line end is one
            yield from cut_lines(text.readline, "\n", LINE_LIMIT)
        return
    for line in cut_lines(stream.readline, b"\n", LINE_LIMIT):
        yield line.decode("utf-8", "replace")


def cut_lines(readline: Callable[[int], AnyStr], newline: AnyStr, limit: int) -> Iterator[AnyStr]:
    """Lines of which each is cut at the limit; what is beyond it is left out, but for the end, by which lines are counted."""
    while line := readline(limit):
        rest = line
        while rest and not rest.endswith(newline) and len(line) >= limit:
            rest = readline(limit)
            if rest.endswith(newline):
                line = line[:-1] + newline
        yield line
