"""The file of calls of this process, as its writer sees it."""

from __future__ import annotations

import contextlib
import itertools
import json
import mmap
import os
import struct
import time
from typing import Any

from ..model import calls_file as layout
from . import folder

_NUMBER = struct.Struct("<q")
_FLAGS = struct.Struct("<H")


class Ring:
    """A mapped file of records; writing one is a copy in memory. The descriptor stays open: readers find it there."""

    def __init__(self) -> None:
        folder.sweep_out()
        self.path = folder.name(layout.SUFFIX)
        self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            # A file with holes would kill the process where the disk is full (mmap(2), SIGBUS).
            os.posix_fallocate(self._fd, 0, layout.FILE_SIZE)
            self._map = mmap.mmap(self._fd, layout.FILE_SIZE)
        except OSError:
            os.close(self._fd)
            os.unlink(self.path)
            raise
        layout.HEADER.pack_into(
            self._map, 0, layout.MAGIC, layout.VERSION, layout.RECORD.size, layout.CAPACITY, layout.TEXT_SIZE,
            os.getpid(), folder.started(), 0, 0,
        )  # fmt: skip
        self._numbers = itertools.count(1)
        self._last = 0
        self._text_used = 0
        self._texts: dict[Any, int] = {}

    def begin(self, op: int, group: int, site: int, peer: int, root: int, n: int, tag: int, numel: int,
              reduction: int, dtype: int) -> int:  # fmt: skip
        """Note that a call begins; give its number."""
        number = next(self._numbers)
        self._last = number
        _NUMBER.pack_into(self._map, layout.BEGUN_AT, number)
        layout.RECORD.pack_into(
            self._map, _at(number), time.time_ns(), 0, 0, numel, n, tag, group, site, peer, root, reduction, dtype, op,
            0, 0, 0, number,
        )  # fmt: skip
        return number

    def goes_on(self, number: int) -> None:
        """Note that a call returned and goes on by itself."""
        if number > self._last - layout.CAPACITY:
            _FLAGS.pack_into(self._map, _at(number) + layout.FLAGS_AT, layout.POSTED)

    def waits(self, number: int) -> None:
        """Note that somebody waits for a call that went on by itself."""
        self._stamp(number, layout.WAITED_AT, time.time_ns())

    def waits_no_more(self, number: int) -> None:
        """Note that who waited gave up; the call may still go on."""
        self._stamp(number, layout.WAITED_AT, 0)

    def ends(self, number: int) -> None:
        """Note that a call is over."""
        self._stamp(number, layout.LEFT_AT, time.time_ns())

    def _stamp(self, number: int, offset: int, value: int) -> None:
        if number > self._last - layout.CAPACITY:
            _NUMBER.pack_into(self._map, _at(number) + offset, value)

    def text(self, kind: str, key: Any, what: Any) -> int:
        """The number of a text that records refer to; written once, 0 when there is no more room."""
        known = self._texts.get((kind, key))
        if known is None:
            known = self._texts[kind, key] = self._write_text(kind, len(self._texts) + 1, what)
        return known

    def knows(self, kind: str, key: Any) -> int | None:
        """The number of a text that was written before."""
        return self._texts.get((kind, key))

    def _write_text(self, kind: str, number: int, what: Any) -> int:
        line = (json.dumps([kind, number, what], separators=(",", ":")) + "\n").encode()
        if self._text_used + len(line) > layout.TEXT_SIZE:
            return 0
        at = layout.HEADER_SIZE + self._text_used
        self._map[at : at + len(line)] = line
        self._text_used += len(line)
        _NUMBER.pack_into(self._map, layout.TEXT_USED_AT, self._text_used)
        return number

    def remove(self) -> None:
        """Take the file away; the process ends in order."""
        with contextlib.suppress(OSError):
            os.unlink(self.path)


def _at(number: int) -> int:
    return layout.HEADER_SIZE + layout.TEXT_SIZE + (number - 1) % layout.CAPACITY * layout.RECORD.size
