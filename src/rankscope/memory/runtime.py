"""Where a process keeps its interpreter, and which layout that has.

The symbol ``_PyRuntime`` is looked up in the memory of the process, not in files, so deleted or upgraded binaries and
foreign mount namespaces make no difference; the file is asked only when its dynamic symbols were stripped. Processes
forked from one another share what was found: they have the same 16 random bytes that the kernel put on their stack at
exec (AT_RANDOM, getauxval(3)).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from . import elf, layouts, maps, search
from .code import Body, Codes, Key
from .layouts import Layout, own
from .objects import U64
from .source import Memory, Unreadable

AT_RANDOM = 25
# A watch over days meets many; the oldest is looked for again if it is still there.
FAMILIES_LIMIT = 1024
_AUXV = struct.Struct("<QQ")
_LIBRARY = re.compile(r"^libpython(\d)\.(\d+)")
_PROGRAM = re.compile(r"^python(\d)\.(\d+)")
_NAMES = ("_PyRuntime", "Py_Version")
_SECTIONS = (".PyRuntime", "PyRuntime")


class NoInterpreter(Exception):
    """This process has no Python interpreter that we could find."""


class UnknownLayout(Exception):
    """There is an interpreter, but its memory does not look as any layout we know says it should."""


@dataclass(frozen=True)
class Runtime:
    """An interpreter that was found: the address of ``_PyRuntime`` and how to read it."""

    address: int
    layout: Layout
    version: str


@dataclass
class Family:
    """What processes forked from one another share."""

    runtime: Runtime | None = None
    codes: Codes = field(default_factory=Codes)
    static_types: dict[int, str] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)  # addresses of well-known objects
    words: dict[str, int] = field(default_factory=dict)  # addresses of names that dicts are searched for
    telling: dict[tuple[int, ...], tuple[int, ...]] = field(default_factory=dict)  # see values.py


class Families:
    """All families seen on this host."""

    def __init__(self) -> None:
        self._known: dict[bytes, Family] = {}
        self._bodies: dict[Key, Body] = {}

    def of(self, proc: str, pid: int, memory: Memory) -> Family:
        """The family a process belongs to; a family of its own when the kernel does not tell."""
        mark = exec_mark(proc, pid, memory)
        if not mark:
            return self._new()
        if len(self._known) >= FAMILIES_LIMIT and mark not in self._known:
            self._known.pop(next(iter(self._known)))
        return self._known.setdefault(mark, self._new())

    def _new(self) -> Family:
        return Family(codes=Codes(self._bodies))


def exec_mark(proc: str, pid: int, memory: Memory) -> bytes:
    """What a process shares with those forked from it since its last exec, and with no other; empty when nobody tells."""
    try:
        with open(f"{proc}/{pid}/auxv", "rb", buffering=0) as file:
            raw = file.read(4096)
        pairs = dict(_AUXV.iter_unpack(raw[: len(raw) // 16 * 16]))
        return memory.read(pairs.get(AT_RANDOM, 0), 16)
    except (OSError, Unreadable, struct.error):
        return b""


def locate(proc: str, pid: int, memory: Memory) -> Iterator[Runtime]:
    """Yield every reading of the process's interpreter that is worth a try, the surest first."""
    mappings = list(maps.parse(maps.read(proc, pid)))
    candidates = _candidates(mappings)
    seen = False
    for image, _ in candidates:
        symbols = _symbols(proc, pid, memory, image)
        if "_PyRuntime" in symbols:
            seen = True
            yield from _readings(memory, image, symbols)
    for image, parts in () if seen else candidates:
        for found in _searched(memory, image, search.data_of(parts, mappings), mappings):
            seen = True
            yield found
    if not seen:
        raise NoInterpreter("no image of this process has an interpreter's symbols, nor looks like one")


def _searched(
    memory: Memory, image: maps.Mapping, data: list[maps.Mapping], mappings: list[maps.Mapping]
) -> Iterator[Runtime]:
    """What looks like an interpreter in an image that does not name it."""
    for address in search.marked(memory, data):
        layout = own.layout(memory.read_some(address, own.SIZE))
        if layout:
            yield Runtime(address, layout, "{}.{}".format(*layout.version))
    match = _LIBRARY.match(image.name) or _PROGRAM.match(image.name)
    named = (int(match[1]), int(match[2])) if match else None
    for version in (named,) if named else layouts.TABLES[:-1]:
        table = layouts.table(version)
        if table:
            for address in search.shaped(memory, data, mappings, table):
                yield Runtime(address, table, "{}.{}".format(*version))


def _candidates(mappings: list[maps.Mapping]) -> list[tuple[maps.Mapping, tuple[maps.Mapping, ...]]]:
    """Images that may hold the interpreter: a libpython, the program itself, then anything that is called python."""
    images = [image for image in maps.images(iter(mappings)) if any("x" in part.permissions for part in image[1])]
    libraries = [image for image in images if _LIBRARY.match(image[0].name)]
    others = [image for image in images[1:] if "python" in image[0].name and image not in libraries]
    return libraries + images[:1] + others


def _symbols(proc: str, pid: int, memory: Memory, image: maps.Mapping) -> dict[str, int]:
    try:
        found = elf.in_memory(memory, image.start, _NAMES)
    except elf.BadElf:
        found = {}
    return found if "_PyRuntime" in found else _symbols_of_file(proc, pid, image)


def _symbols_of_file(proc: str, pid: int, image: maps.Mapping) -> dict[str, int]:
    """Ask the very file that is mapped, by the kernel's own link to it, for what a stripped image no longer tells."""
    for path in (f"{proc}/{pid}/map_files/{image.start:x}-{image.end:x}", f"{proc}/{pid}/exe"):
        try:
            found = elf.in_file(path, _NAMES)
            if "_PyRuntime" not in found:
                place = elf.section(path, _SECTIONS)
                found = {"_PyRuntime": place[0]} if place else {}
        except (OSError, elf.BadElf, ValueError):
            continue
        if found:
            return found
    return {}


def _readings(memory: Memory, image: maps.Mapping, symbols: dict[str, int]) -> Iterator[Runtime]:
    address = image.start + symbols["_PyRuntime"]
    try:
        head = memory.read_some(address, own.SIZE)
    except Unreadable:
        return
    if head.startswith(own.COOKIE):
        layout = own.layout(head)
        if layout:
            yield Runtime(address, layout, _text(U64(head, 8)[0]))
        return
    number = _version_number(memory, image, symbols)
    for version in _versions(number, image.name):
        table = layouts.table(version)
        if table:
            yield Runtime(address, table, _text(number) if number else "{}.{}".format(*version))


def _version_number(memory: Memory, image: maps.Mapping, symbols: dict[str, int]) -> int:
    if "Py_Version" not in symbols:
        return 0
    try:
        return int(U64(memory.read(image.start + symbols["Py_Version"], 8))[0])
    except Unreadable:
        return 0


def _versions(number: int, name: str) -> tuple[tuple[int, int], ...]:
    """Which versions it can be: the one it says, the one in its file name, else each that does not say."""
    if number:
        return ((number >> 24 & 0xFF, number >> 16 & 0xFF),)
    match = _LIBRARY.match(name) or _PROGRAM.match(name)
    return ((int(match[1]), int(match[2])),) if match else ((3, 10), (3, 9), (3, 8))


def _text(number: int) -> str:
    level = {0xA: "a", 0xB: "b", 0xC: "rc"}.get(number >> 4 & 0xF, "")
    return f"{number >> 24 & 255}.{number >> 16 & 255}.{number >> 8 & 255}" + (f"{level}{number & 15}" if level else "")
