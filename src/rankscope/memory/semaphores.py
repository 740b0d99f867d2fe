"""How often a process has taken a lock of ``multiprocessing``: the object that wraps the semaphore counts it.

A ``SemLock`` (CPython, Modules/_multiprocessing/semaphore.c) has, behind the head of every object, ``sem_t *handle; unsigned long
last_tid; int count; int maxvalue; int kind; char *name``, in all versions from 3.8 on. It is small, so that the allocator of the
interpreter keeps it in memory without a name, and it is found by its handle, which is where the semaphore lies. A child that was
forked has it where its parent has it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Callable, NamedTuple

from .maps import Mapping
from .source import PAGE, Memory, Unreadable

_FIELDS = struct.Struct("<QQiii")  # from the handle on
_POINTER = struct.Struct("<Q")
_TYPE_NAME = 24  # where a type has the pointer to its name
_CALLED = (b"_multiprocessing.SemLock\0", b"SemLock\0")
_WORD = 8
_PIECE = 1 << 20
BYTES_LIMIT = 1 << 30  # of one process
# The lowest and the highest bytes of an address are mostly zero, as is most memory: those between are found four times faster.
_TELLING = slice(2, 6)


class Count(NamedTuple):
    """Where a process has the object of a semaphore, how often it took it and did not give it back, and how many may at once."""

    address: int
    taken: int
    most: int


def count(
    memory: Memory, mappings: Callable[[], Sequence[Mapping]], handle: int, near: Iterable[int] = ()
) -> Count | None:
    """What a process counts for the semaphore at ``handle``, looked for at the addresses ``near`` first; None where it has no
    such object, or it is not found."""
    for address in near:
        found = _at(memory, address, handle)
        if found is not None:
            return found
    return next(_search(memory, mappings(), handle), None)


def _at(memory: Memory, address: int, handle: int) -> Count | None:
    """The object whose field for the handle is at this address."""
    try:
        where, _, taken, most, _ = _FIELDS.unpack(memory.read(address, _FIELDS.size))
        if where != handle:
            return None
        (kind,) = _POINTER.unpack(memory.read(address - _WORD, _WORD))
        (name,) = _POINTER.unpack(memory.read(kind + _TYPE_NAME, _WORD))
        called = memory.read_some(name, max(map(len, _CALLED)))
    except Unreadable:
        return None
    return Count(address, taken, most) if called.startswith(_CALLED) else None


def _search(memory: Memory, mappings: Sequence[Mapping], handle: int) -> Iterator[Count]:
    wanted = _POINTER.pack(handle)
    middle = wanted[_TELLING]
    for start, raw in _pieces(memory, mappings):
        at = raw.find(middle)
        while at >= 0:
            first = at - _TELLING.start
            whole = first >= 0 and first % _WORD == 0 and raw[first : first + _WORD] == wanted
            found = _at(memory, start + first, handle) if whole else None
            if found is not None:
                yield found
            at = raw.find(middle, at + 1)


def _pieces(memory: Memory, mappings: Sequence[Mapping]) -> Iterator[tuple[int, bytes]]:
    """The memory that has no name and can be written, the smallest first: the interpreter takes it by the MiB, and large ones
    are mostly somebody's numbers. Last of all what lies above a guard: stacks of threads, and what was made one with them."""
    left = BYTES_LIMIT
    guards = {each.end for each in mappings if each.permissions.startswith("---")}
    homes = [each for each in mappings if each.permissions.startswith("rw") and each.path in ("", "[heap]")]
    for each in sorted(homes, key=lambda one: (one.start in guards, one.end - one.start)):
        at = each.start
        while at < each.end and left > 0:
            try:
                raw = memory.read_some(at, min(each.end - at, _PIECE))
            except Unreadable:
                at, left = (
                    at + PAGE,
                    left - PAGE,
                )  # a guard that no line of the map shows (madvise(2), MADV_GUARD_INSTALL)
                continue
            yield at, raw
            at, left = at + len(raw), left - len(raw)
