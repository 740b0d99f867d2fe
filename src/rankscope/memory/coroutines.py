"""What is suspended in an interpreter: the frames of coroutines and generators, what each awaits, and what it has entered.

A suspended frame keeps its value stack: on top of it lies what it awaits, and below lies, for each ``async with`` that it
is inside of, the bound ``__aexit__`` (PEP 492; CPython 3.8 to 3.13).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from ..model.evidence.stacks import Frame
from . import dicts, frames
from .code import CodeReader, NotCode, frame_of
from .frames import RawFrame
from .objects import U64, Objects
from .source import Unreadable

DEPTH_LIMIT = 64
STACK_LIMIT = 256
NAMES_LIMIT = 256
NAME_LIMIT = 64
# Of one process: what is awaited may lead back, and what is entered may be entered many times.
ALL_FRAMES_LIMIT = 20_000
_MARKS = 7  # the lowest bits of a variable are the interpreter's own
# Objects that stand for another one, which is their first field.
_STAND_INS = ("coroutine_wrapper", "async_generator_asend", "async_generator_athrow")
_SUSPENDED = ("coroutine", "generator", "async_generator")
_GENERATED = "_AsyncGeneratorContextManager"


@dataclass(frozen=True)
class Suspended:
    """One suspended frame; ``entered`` are the objects whose ``async with`` it is inside of, the outermost first."""

    raw: RawFrame
    frame: Frame
    entered: tuple[int, ...] = ()


class Coroutines:
    """Reads the suspended frames of one process."""

    def __init__(self, objects: Objects, codes: CodeReader) -> None:
        self._objects, self._layout, self._codes = objects, objects.layout, codes
        self._left = ALL_FRAMES_LIMIT

    def kind(self, address: int) -> str:
        """The name of an object's type, empty where there is no object."""
        try:
            return self._objects.type_name(self._objects.pointer(address + self._layout.object_type)) if address else ""
        except Unreadable:
            return ""

    def is_one(self, address: int) -> bool:
        """Whether an object can be suspended."""
        return self.kind(address) in _SUSPENDED

    def chain(self, address: int) -> tuple[Suspended, ...]:
        """The frames that await each other, from a coroutine inwards; what cannot be read ends it."""
        out: list[Suspended] = []
        try:
            while address and len(out) < DEPTH_LIMIT:
                kind = self.kind(address)
                if kind in _STAND_INS:
                    address = self._objects.pointer(address + self._layout.object_type + 8)
                    kind = self.kind(address)
                raw = self._frame(address) if kind in _SUSPENDED else None
                if raw is None:
                    break
                held = self._stack(raw)
                one = frame_of(self._layout, self._codes.at(raw.code), raw.instruction)
                out.append(Suspended(raw, one, tuple(self._entered(held))))
                address = held[-1] if held else 0
        except (Unreadable, NotCode, struct.error):
            pass
        return tuple(out)

    def argument(self, raw: RawFrame) -> int:
        """The first argument of a frame: ``self`` in methods."""
        return self._objects.pointer(raw.address + self._layout.frame_values) & ~7

    def names(self, raw: RawFrame) -> frozenset[str]:
        """What the code of a frame calls the globals and attributes that it uses."""
        objects = self._objects
        names = objects.items(objects.pointer(raw.code + self._layout.code_names), NAMES_LIMIT)
        return frozenset(objects.text(one, NAME_LIMIT) for one in names)

    def reaches(self, raw: RawFrame, address: int) -> bool:
        """Whether a variable of a frame is this object, or has it as an attribute by a name that the frame's code uses."""
        objects, names = self._objects, self.names(raw)
        start, count = self._values(raw)
        held = struct.unpack(f"<{count}Q", objects.memory.read(start, 8 * count))
        for one in {value & ~_MARKS for value in held} - {0}:
            inside = objects.pointer(one + self._layout.cell_value) if self.kind(one) == "cell" else one
            if inside == address or (inside and any(self._attribute(inside, name) == address for name in names)):
                return True
        return False

    def _attribute(self, address: int, name: str) -> int:
        try:
            return dicts.attribute(self._objects, address, name)
        except (Unreadable, struct.error):
            return 0

    def _values(self, raw: RawFrame) -> tuple[int, int]:
        """Where the variables of a suspended frame lie, and how many there are; its value stack begins behind them."""
        layout, objects = self._layout, self._objects
        start = raw.address + layout.frame_values
        if layout.frame_stack < 0:
            names = objects.pointer(raw.code + layout.code_local_names)
            count = objects.pointer(names + layout.sized_size)
        else:
            count = (objects.pointer(raw.address + layout.frame_stack) - start) // 8
        if not 0 <= count <= STACK_LIMIT:
            raise Unreadable(f"{count} variables in a frame")
        return start, count

    def _frame(self, address: int) -> RawFrame | None:
        """The frame of a coroutine, None when it runs or has ended."""
        layout, objects = self._layout, self._objects
        self._left -= 1
        if self._left < 0:
            raise Unreadable("more suspended frames than are read of one process")
        at = address + layout.coroutine_frame
        if layout.coroutine_state < 0:
            at = objects.pointer(at)
        elif objects.memory.read(address + layout.coroutine_state, 1)[0] < 0x80:
            return None
        found = frames.walk(objects.memory, layout, at, 1).frames if at else ()
        return found[0] if found else None

    def _stack(self, raw: RawFrame) -> tuple[int, ...]:
        """The value stack of a suspended frame, its top last."""
        layout, objects = self._layout, self._objects
        (top,) = U64(objects.memory.read(raw.address + layout.frame_stack_top, 8))
        start, variables = self._values(raw)
        start += 8 * variables
        if layout.frame_stack < 0:
            count = (top & 0xFFFFFFFF) - variables
        else:
            count = top & 0xFFFFFFFF if layout.version == (3, 10) else (top - start) // 8
        if not 0 < count <= STACK_LIMIT:
            return ()
        return struct.unpack(f"<{count}Q", objects.memory.read(start, 8 * count))

    def _entered(self, held: tuple[int, ...], nesting: int = 4) -> Iterator[int]:
        for address in held[:-1]:
            entered = self._leaves(address)
            if entered:
                yield entered
            if entered and nesting and self.kind(entered) == _GENERATED:
                made = dicts.attribute(self._objects, entered, "gen")
                raw = self._frame(made) if self.is_one(made) else None
                yield from self._entered((*self._stack(raw), 0), nesting - 1) if raw else ()

    def _leaves(self, address: int) -> int:
        """The object of a bound ``__aexit__``, 0 for anything else."""
        layout, objects = self._layout, self._objects
        if self.kind(address) != "method":
            return 0
        function = objects.pointer(address + layout.method_self - 8)
        if self.kind(function) != "function":
            return 0
        name = self._codes.at(objects.pointer(function + layout.function_code)).name
        return objects.pointer(address + layout.method_self) if name.endswith("__aexit__") else 0


def members(objects: Objects, address: int, limit: int) -> tuple[tuple[int, ...], int]:
    """The addresses in a set, at most ``limit`` of them, and how many were left out."""
    layout = objects.layout
    slots = objects.pointer(address + layout.set_mask) + 1
    if not 0 < slots <= 1 << 18:
        raise Unreadable(f"no set at {address:#x}")
    raw = objects.memory.read(objects.pointer(address + layout.set_table), 16 * slots)
    # A slot that was emptied keeps a mark, whose hash no object has.
    found = [key for key, mark in struct.iter_unpack("<Qq", raw) if key and mark != -1]
    return tuple(found[:limit]), max(len(found) - limit, 0)
