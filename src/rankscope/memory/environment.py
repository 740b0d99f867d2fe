"""The environment of a process as it is now: what it set on itself after exec is not in /proc/PID/environ (environ(7)).

The C library keeps it behind a pointer called ``environ``: an array of pointers to ``NAME=value``, ended by a null. A program
that names the variable itself has it in its own image (a copy relocation), all others use that of the C library.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from . import elf, maps
from .runtime import exec_mark
from .source import Memory, Pages, ProcessMemory, Unreadable

_SYMBOLS = ("environ", "__environ")
_LIBRARIES = re.compile(r"(libc\.so\.6|libc-2\.\d+\.so|ld-musl-\w+\.so\.1|libc\.musl-\w+\.so\.1)$")
_MOST = 4096
_LONGEST = 256


def read(proc: str, pid: int, names: frozenset[str], known: dict[bytes, int] | None = None) -> dict[str, str]:
    """The values of these names, as far as they are set; raises Unreadable where no environment can be found.

    ``known`` keeps where the pointer lies, for processes forked from one another: finding it is most of the work.
    """
    known = {} if known is None else known
    with ProcessMemory(proc, pid) as memory:
        pages, mark = Pages(memory), exec_mark(proc, pid, memory)
        for address in [known[mark]] if mark in known else _places(proc, pid, pages):
            try:
                found = values(pages, _word(pages, address), names)
            except Unreadable:
                continue
            if mark:
                known[mark] = address
            return found
    raise Unreadable("no image of this process leads to its environment")


def _places(proc: str, pid: int, memory: Memory) -> Iterator[int]:
    """Where the pointer may be: in the program itself, else in the C library."""
    images = list(maps.images(maps.parse(maps.read(proc, pid))))
    for image, _ in images[:1] + [one for one in images if _LIBRARIES.match(one[0].name)]:
        try:
            found = elf.in_memory(memory, image.start, _SYMBOLS)
        except elf.BadElf:
            continue
        yield from (image.start + found[name] for name in _SYMBOLS if name in found)


def _word(memory: Memory, address: int) -> int:
    return int(struct.unpack("<Q", memory.read(address, 8))[0])


def values(memory: Memory, array: int, names: frozenset[str]) -> dict[str, str]:
    """The values of these names in an array of texts; the first one counts, as for getenv."""
    found: dict[str, str] = {}
    wanted = {name.encode(): name for name in names}
    for place in range(_MOST):
        pointer = _word(memory, array + 8 * place)
        if not pointer:
            return found
        name, equals, value = _text(memory, pointer).partition(b"=")
        if equals and name in wanted:
            found.setdefault(wanted[name], value.decode("utf-8", "replace"))
    raise Unreadable("an environment without an end")


def _text(memory: Memory, address: int) -> bytes:
    """The beginning of a text, up to its end or a sane length."""
    try:
        return memory.read_some(address, _LONGEST).partition(b"\0")[0]
    except Unreadable:
        return b""
