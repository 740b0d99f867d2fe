"""Call sites that torch's recorder keeps: code objects and instructions, resolved in the foreign interpreter.

A CapturedTraceback (torch/csrc/profiler/combined_traceback.h) begins with its vtable and a vector of (code object,
offset of the instruction), innermost first. The object holds references, so its code objects are alive.
"""

from __future__ import annotations

import struct

from ..model.evidence.stacks import Frame
from . import lines, runtime
from .code import CodeReader, NotCode
from .objects import Objects
from .runtime import Families, Family, NoInterpreter, Runtime, UnknownLayout
from .source import Memory, ProcessMemory, Unreadable

MOST_FRAMES = 256
_PAIR = struct.Struct("<Qi4x")


class Tracebacks:
    """Resolves the call sites of one process; says nothing where its interpreter is unknown."""

    def __init__(self, memory: Memory, found: Runtime | None, family: Family) -> None:
        self._memory = memory
        self._layout = found.layout if found else None
        self._codes = CodeReader(Objects(memory, found.layout, family.static_types), family.codes) if found else None

    @classmethod
    def of(cls, proc: str, pid: int, memory: ProcessMemory, families: Families) -> Tracebacks:
        """For one process; what is known of one of its family is used for all."""
        family = families.of(proc, pid, memory)
        try:
            found = family.runtime or next(runtime.locate(proc, pid, memory), None)
        except (NoInterpreter, UnknownLayout, Unreadable, OSError, struct.error):
            found = None
        return cls(memory, found, family)

    def frames(self, at: int) -> tuple[Frame, ...]:
        """The frames of one traceback, innermost first; empty when it is none."""
        if self._codes is None or not at:
            return ()
        try:
            begin, end = struct.unpack("<QQ", self._memory.read(at + 8, 16))
            if not 0 < end - begin <= MOST_FRAMES * _PAIR.size or (end - begin) % _PAIR.size:
                return ()
            pairs = _PAIR.iter_unpack(self._memory.read(begin, end - begin))
            return tuple(self._frame(code, instruction) for code, instruction in pairs)
        except (Unreadable, NotCode, struct.error, IndexError):
            return ()

    def _frame(self, address: int, instruction: int) -> Frame:
        assert self._codes is not None
        assert self._layout is not None
        code = self._codes.at(address)
        line = lines.LINE_OF[self._layout.lines](code.table, code.first_line, max(instruction, 0))
        return Frame(code.name, code.file, max(line, 0))
