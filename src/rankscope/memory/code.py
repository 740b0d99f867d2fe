"""Code objects: whose frame it is and on which line it stands. Decoded once for all processes forked from one another."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..model.evidence.stacks import Frame
from . import lines, scope
from .layouts import Layout, Lines
from .objects import I32, U64, Objects
from .source import Unreadable

TABLE_LIMIT = 4 << 20
NAMES_LIMIT = 4096
COPY_DISTANCE = 1 << 24


class NotCode(Exception):
    """What a frame points to is no code object: torn, or not the layout we think."""


Slots = tuple[tuple[str, int, bool], ...]
Key = tuple[str, str, int, bytes]


@dataclass(frozen=True)
class Body:
    """What a code object says, wherever it lies. ``frames`` keeps a Frame for each offset seen, ``slots`` its locals."""

    file: str
    name: str
    first_line: int
    table: bytes
    frames: dict[int, Frame] = field(default_factory=dict, compare=False)
    slots: list[Slots] = field(default_factory=list, compare=False)


@dataclass(frozen=True)
class Code:
    """One code object where it lies."""

    address: int
    header: bytes
    body: Body

    @property
    def file(self) -> str:
        return self.body.file

    @property
    def name(self) -> str:
        return self.body.name

    @property
    def first_line(self) -> int:
        return self.body.first_line

    @property
    def table(self) -> bytes:
        return self.body.table


@dataclass
class Codes:
    """The code objects known so far, for one family of processes; ``kind`` is the address of the type ``code``.

    ``bodies`` is shared by all processes of a host: equal code of one file is decoded once.
    """

    bodies: dict[Key, Body] = field(default_factory=dict)
    known: dict[tuple[int, bytes], Code] = field(default_factory=dict)
    kind: int = 0


class CodeReader:
    """Reads the code objects of one process."""

    def __init__(self, objects: Objects, codes: Codes) -> None:
        self._objects, self._layout, self._codes = objects, objects.layout, codes
        self._here: dict[int, Code] = {}
        layout = self._layout
        pointers = (layout.code_file, layout.code_name, layout.code_lines, layout.code_local_names)
        self._from, self._to = min(pointers), max(pointers) + 8

    def at(self, address: int) -> Code:
        """Read the code object at an address; raise NotCode when there is none."""
        code = self._here.get(address)
        if code is None:
            code = self._here[address] = self._read(address)
        return code

    def forget(self) -> None:
        """Read everything anew: the process ran meanwhile."""
        self._here.clear()

    def _read(self, address: int) -> Code:
        layout = self._layout
        try:
            header = self._objects.memory.read(address, layout.code_size)
            self._check_type(U64(header, layout.object_type)[0])
            first = header[layout.code_first_line : layout.code_first_line + 4]
            key = (address, header[self._from : self._to] + first)
            code = self._codes.known.get(key)
            if code is None:
                code = self._decode(address, header)
                # Generated code comes and goes, the next one with the same pointers; what was imported stays.
                if scope.installed(code.file):
                    self._codes.known[key] = code
            return code
        except Unreadable as error:
            raise NotCode(str(error)) from None

    def _check_type(self, kind: int) -> None:
        if not self._codes.kind and self._objects.type_name(kind) == "code":
            self._codes.kind = kind
        if kind != self._codes.kind:
            raise NotCode(f"the type at {kind:#x} is not that of code")

    def _decode(self, address: int, header: bytes) -> Code:
        layout, objects = self._layout, self._objects
        file = objects.text(U64(header, layout.code_file)[0])
        name = objects.text(U64(header, layout.code_name)[0])
        first = I32(header, layout.code_first_line)[0]
        table = objects.data(U64(header, layout.code_lines)[0], TABLE_LIMIT)
        key = (file, name, first, table)
        if not file.startswith("/"):
            # Not from a file: another with the same text may have other local variables.
            return Code(address, header, Body(*key))
        body = self._codes.bodies.get(key)
        if body is None:
            body = self._codes.bodies[key] = Body(*key)
        return Code(address, header, body)


def frame_of(layout: Layout, code: Code, instruction: int) -> Frame:
    """The frame that stands on this instruction of this code; ``instruction`` is as the interpreter's frame holds it."""
    at = offset_of(layout, code.address, instruction)
    body = code.body
    frame = body.frames.get(at)
    if frame is None:
        # A free-threaded build runs copies of the instructions, which lie elsewhere; then the line is not known.
        known = not layout.free_threaded or 0 <= at < COPY_DISTANCE
        line = lines.LINE_OF[layout.lines](body.table, body.first_line, at) if known else 0
        frame = body.frames[at] = Frame(body.name, body.file, max(line, 0))
    return frame


def offset_of(layout: Layout, code: int, instruction: int) -> int:
    """The offset in bytes of an instruction in its code."""
    if layout.code_instructions < 0:
        # An index: of bytes up to 3.9, of instructions in 3.10.
        return instruction * 2 if layout.lines is Lines.RANGES else instruction
    return (instruction - code - layout.code_instructions) // 2 * 2
