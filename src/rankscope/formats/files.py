"""The files somebody names: directories walked in order, gzip and stdin opened, text streamed in bounded pieces."""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from . import packed
from .lines import LINE_LIMIT

HEAD = 64 << 10
# No text is full of these; escape, tab and the line ends are not among them.
_CONTROL = bytes(byte for byte in range(32) if byte not in b"\t\n\v\f\r\x1b")
STDIN = "-"


@dataclass(frozen=True)
class Source:
    """One file: ``name`` is how reports call it, ``path`` where it is (``-`` for stdin), ``data`` what a packed one holds."""

    name: str
    path: str
    data: bytes | None = None


def sources(paths: Iterable[str | Path]) -> Iterator[Source]:
    """Every regular file behind the paths, directories in order of their names; links inside directories are not followed.

    An archive counts as a directory of what is packed in it.
    """
    for source in _files(paths):
        if not packed.is_archive(source.name):
            yield source
            continue
        empty = True
        for name, data in packed.members(source.path):
            empty = False
            yield Source(f"{source.name}/{name}", source.path, data)
        if empty:
            yield source


def _files(paths: Iterable[str | Path]) -> Iterator[Source]:
    for given in paths:
        path = str(given)
        if path != STDIN and os.path.isdir(path):
            for folder, folders, files in os.walk(path):
                folders.sort()
                for file in sorted(files):
                    full = os.path.join(folder, file)
                    if _regular(full):
                        yield Source(os.path.relpath(full, path), full)
        else:
            yield Source(path, path)


def _regular(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def open_source(source: Source) -> IO[bytes]:
    """The bytes of a source, decompressed; its first bytes can be looked at with ``peek``."""
    if source.data is not None:
        raw: Any = io.BytesIO(source.data)
    elif source.path == STDIN:
        raw = sys.stdin.buffer
    else:
        raw = open(source.path, "rb", buffering=1 << 20)  # noqa: SIM115
    buffered: Any = raw if hasattr(raw, "peek") else io.BufferedReader(raw, 1 << 20)
    if buffered.peek(2)[:2] == b"\x1f\x8b":
        return io.BufferedReader(gzip.GzipFile(fileobj=buffered), 1 << 20)
    return buffered  # type: ignore[no-any-return]


def head_of(stream: IO[bytes]) -> bytes:
    """The first bytes, left in place."""
    try:
        return stream.peek(HEAD)[:HEAD]  # type: ignore[attr-defined,no-any-return]
    except (OSError, EOFError, zlib.error):
        return b""


def is_text(head: bytes) -> bool:
    """Whether bytes look like text of an encoding that has ASCII in it, or UTF-16 with its mark."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return True
    return len(head) - len(head.translate(None, _CONTROL)) <= len(head) // 50


def text_lines(stream: IO[bytes]) -> Iterator[str]:
    """Lines decoded as UTF-8 (or marked UTF-16), what is neither kept as replacement characters; long lines are cut."""
    head = head_of(stream)
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        yield from io.TextIOWrapper(stream, "utf-16", errors="replace")
        return
    while True:
        try:
            line = stream.readline(LINE_LIMIT)
        except (OSError, EOFError, zlib.error):
            return
        if not line:
            return
        while not line.endswith(b"\n") and len(line) >= LINE_LIMIT:
            rest = stream.readline(LINE_LIMIT)
            if not rest or rest.endswith(b"\n"):
                break
        yield line.decode("utf-8", "replace")
