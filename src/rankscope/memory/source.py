"""Bytes of another process, through one small interface; every read is checked and counted against a budget."""

from __future__ import annotations

import os
from typing import Protocol

# Far more than any honest interpreter needs; a hostile or corrupt one runs out of budget instead of keeping us busy.
READS_LIMIT = 400_000
BYTES_LIMIT = 256 << 20
READ_LIMIT = 16 << 20
PAGE = 4096
# User addresses end here on every 64-bit Linux we know (57 bits with five-level page tables).
ADDRESS_LIMIT = 1 << 57


class Unreadable(Exception):
    """Memory at an address could not be had: unmapped, freed, absurd, or beyond the budget."""


class Memory(Protocol):
    """Memory of a process, alive or dead."""

    def read(self, address: int, size: int) -> bytes:
        """Return exactly ``size`` bytes, or raise Unreadable."""
        ...

    def read_some(self, address: int, size: int) -> bytes:
        """Return up to ``size`` bytes, at least one, or raise Unreadable."""
        ...


class ProcessMemory:
    """Memory of a living process, read through /proc/PID/mem (proc(5)): one system call, no pause, no ptrace stop."""

    def __init__(self, proc: str, pid: int, limit: int = BYTES_LIMIT) -> None:
        self.pid = pid
        self._limit = limit
        self.reads = 0
        self.bytes = 0
        self._fd = os.open(f"{proc}/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)

    def __enter__(self) -> ProcessMemory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the process."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def read(self, address: int, size: int) -> bytes:
        """Return exactly ``size`` bytes, or raise Unreadable."""
        data = self.read_some(address, size)
        if len(data) != size:
            raise Unreadable(f"{size} bytes at {address:#x}: only {len(data)}")
        return data

    def read_some(self, address: int, size: int) -> bytes:
        """Return up to ``size`` bytes; a range that runs into an unmapped page comes back short."""
        if not 0 < address < ADDRESS_LIMIT or not 0 < size <= READ_LIMIT:
            raise Unreadable(f"{size} bytes at {address:#x}: not an address")
        self.reads += 1
        if self.reads > READS_LIMIT or self.bytes > self._limit:
            raise Unreadable("budget spent")
        try:
            data = os.pread(self._fd, size, address)
        except OSError as error:
            raise Unreadable(f"{size} bytes at {address:#x}: {error.strerror}") from None
        if not data:
            # The kernel gives nothing, not an error, once the address space is gone.
            raise Unreadable(f"{size} bytes at {address:#x}: the process has no memory any more")
        self.bytes += len(data)
        return data


class Pages:
    """Memory whose pages are fetched once: what belongs together mostly lies together, and a page costs what a word does.

    For one look at a process only: after ``forget`` everything is fetched anew.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._pages: dict[int, bytes] = {}

    def forget(self) -> None:
        """Begin another look."""
        self._pages.clear()

    def read(self, address: int, size: int) -> bytes:
        """Return exactly ``size`` bytes, or raise Unreadable."""
        offset = address % PAGE
        if 0 < size <= PAGE - offset:
            page = self._pages.get(address - offset) or self._fetch(address - offset)
            return page[offset : offset + size]
        return self._memory.read(address, size)

    def read_some(self, address: int, size: int) -> bytes:
        """Return up to ``size`` bytes; a range that runs into an unmapped page comes back short."""
        if 0 < size <= PAGE - address % PAGE:
            return self.read(address, size)
        return self._memory.read_some(address, size)

    def _fetch(self, start: int) -> bytes:
        page = self._pages[start] = self._memory.read(start, PAGE)
        return page
