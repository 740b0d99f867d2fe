"""Which library a sleeping thread called the kernel from, without stopping it: its instruction and stack pointer say so.

/proc/PID/task/TID/syscall ends with both (proc(5)). The C library makes most calls on behalf of somebody else; then the first
word above the stack pointer that points into the code of another file is most likely its caller's return address.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Sequence
from typing import Callable

from ..memory import maps

_WORDS = 96  # as far up as the C library's own frames of a lock or a condition reach
_C_LIBRARY = re.compile(
    r"(?:libc|libpthread|ld|ld-linux-[\w-]+|ld-musl-[\w-]+|libc-[\d.]+|libpthread-[\d.]+)\.so|\[vdso\]"
)

Memory = Callable[[int, int], bytes]


def code(proc: str, pid: int) -> tuple[maps.Mapping, ...]:
    """Where the code of a process lies, file by file; nothing where that cannot be read."""
    try:
        # Of a process with torch loaded, one line of ten is code; the others need not be taken apart.
        lines = [line for line in maps.read(proc, pid).splitlines() if b"x" in line.split(None, 2)[1]]
        return tuple(one for one in maps.parse(b"\n".join(lines)) if one.path)
    except (OSError, IndexError):
        return ()


def library(files: Sequence[maps.Mapping], memory: Memory, stack: int, instruction: int) -> str:
    """The file name of the library (or program) in which the call was made, empty where nothing tells."""
    raw = memory(stack, 8 * _WORDS)
    for (address,) in [(instruction,), *struct.iter_unpack("<Q", raw[: len(raw) // 8 * 8])]:
        found = next((one for one in files if one.start <= address < one.end), None)
        if found is not None and not _C_LIBRARY.match(os.path.basename(found.path)):
            return os.path.basename(found.path)
    return ""
