"""Scalar local variables of frames, and the globals of ``<module>`` frames, where a loop at module level keeps its own.

Only the interpreter's built-in types are read, never anything that a job's class could fake; strings only on request,
since they may hold secrets.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from ..model.evidence.stacks import Frame, Local
from ..model.ranks import RankSet
from . import dicts, scope
from .code import NAMES_LIMIT, Code, CodeReader, Slots
from .frames import RawFrame
from .objects import U32, U64, Objects, int_shape
from .source import Unreadable

VALUE_LIMIT = 100
PATH_LIMIT = 1024
LOCALS_LIMIT = 64  # of one frame
GLOBALS_LIMIT = 1024  # names looked at in a module
ITEMS_LIMIT = 16
RANKS_LIMIT = 4096  # of one group; a larger one is left out, since a part of it would pass for the whole
DIGITS_LIMIT = 32
_CELL, _FREE, _HIDDEN = 0x40, 0x80, 0x10
_POINTER_MARKS = 7
# One read of this many bytes brings most scalars whole.
_HEAD = 64
Telling = dict[tuple[int, ...], tuple[int, ...]]
_SCALARS = frozenset({"NoneType", "bool", "int", "float", "str"})
# Of a deep recursion only the outermost and the innermost frames are asked for their locals.
_OUTER, _INNER = 16, 32


class Values:
    """Reads the values that one process's frames hold."""

    def __init__(self, objects: Objects, strings: bool, all_names: bool = True, telling: Telling | None = None) -> None:
        self._objects, self._strings, self._all = objects, strings, all_names
        self._telling: Telling = {} if telling is None else telling

    def of(self, raws: Sequence[RawFrame], stack: Sequence[Frame], codes: CodeReader) -> Iterator[Local]:
        """Yield the scalar locals of a thread, outermost frame first; what cannot be read is left out."""
        telling = [depth for depth, frame in enumerate(stack) if scope.telling(frame.file)]
        if len(telling) > _OUTER + _INNER:
            telling = telling[:_OUTER] + telling[-_INNER:]
        for depth in telling:
            yield from self._of_frame(depth, raws[depth], codes.at(raws[depth].code))

    def _of_frame(self, depth: int, frame: RawFrame, code: Code) -> Iterator[Local]:
        try:
            every = self._all or scope.installed(code.file)
            pairs = self._globals(frame, every) if code.name == "<module>" else self._fast(frame, code, every)
            for count, (name, value, kind) in enumerate(pairs):
                if count >= LOCALS_LIMIT:
                    return
                yield Local(depth, name, value, kind)
            yield from self._told(depth, frame, code)
            yield from self._group_ranks(depth, frame, code)
        except (Unreadable, struct.error):
            return

    def _told(self, depth: int, frame: RawFrame, code: Code) -> Iterator[Local]:
        """The path or address at which a known function waits, as a local called ``lock file`` or ``meeting point``."""
        place = scope.told(code.file, code.name)
        objects = self._objects
        for name, index, is_cell in self._slots(code) if place else ():
            if place and name == place[0]:
                pointer = objects.pointer(frame.address + objects.layout.frame_values + 8 * index) & ~_POINTER_MARKS
                pointer = self._inside(pointer) if is_cell and pointer else pointer
                if place[1] and pointer:
                    pointer = dicts.attribute(objects, pointer, place[1])
                if pointer and self._kind(objects.memory.read_some(pointer, _HEAD)) == "str":
                    yield Local(depth, place[2], objects.text(pointer, PATH_LIMIT), place[3])

    def _group_ranks(self, depth: int, frame: RawFrame, code: Code) -> Iterator[Local]:
        """The process group that a call of torch.distributed was given, as a local called ``group ranks``: its name and ranks.

        Its module keeps ``_pg_names``, group → name, and ``_pg_group_ranks``, group → {rank in the job: rank in the group}.
        """
        objects = self._objects
        for name, index, is_cell in self._slots(code) if scope.names_group(code.file) else ():
            if name == "group" and not is_cell:
                group = objects.pointer(frame.address + objects.layout.frame_values + 8 * index) & ~_POINTER_MARKS
                namespace = objects.pointer(frame.address + objects.layout.frame_globals)
                called, table = (self._of_key(namespace, name, group) for name in ("_pg_names", "_pg_group_ranks"))
                if called and table and self._kind(objects.memory.read_some(called, _HEAD)) == "str":
                    ranks = self._whole_numbers(table)
                    if ranks:
                        yield Local(depth, "group ranks", f"{objects.text(called, VALUE_LIMIT)}: {ranks}", "ranks")

    def _whole_numbers(self, table: int) -> RankSet:
        """The keys of a dict of ranks; empty unless all of them are read."""
        (count,) = U64(self._objects.memory.read(table + self._objects.layout.dict_used, 8))
        if count > RANKS_LIMIT:
            return RankSet()
        shown = [self._show(key, False) for key, _ in dicts.entries(self._objects, table, RANKS_LIMIT)]
        ranks = [int(one[0]) for one in shown if one and one[0].isdigit()]
        return RankSet(ranks) if len(ranks) == count else RankSet()

    def _of_key(self, namespace: int, table: str, key: int) -> int:
        """The value that a dict of a module has for this very object; 0 for none."""
        where = dicts.lookup(self._objects, namespace, table, GLOBALS_LIMIT) if key else 0
        pairs = dicts.entries(self._objects, where, GLOBALS_LIMIT) if where else ()
        return next((value for one, value in pairs if one == key), 0)

    def _fast(self, frame: RawFrame, code: Code, every: bool) -> Iterator[tuple[str, str, str]]:
        slots = [slot for slot in self._slots(code) if every or slot[0] in scope.IDENTITY]
        if not slots:
            return
        layout, objects = self._objects.layout, self._objects
        raw = objects.memory.read(frame.address + layout.frame_values, 8 * (slots[-1][1] + 1))
        for name, index, is_cell in slots:
            pointer = U64(raw, 8 * index)[0] & ~_POINTER_MARKS
            shown = self._show(pointer, is_cell)
            if shown:
                yield (name, *shown)

    def _slots(self, code: Code) -> Slots:
        """Name, place and whether it is a cell, of each local of a code object."""
        if not code.body.slots:
            try:
                code.body.slots.append(tuple(self._read_slots(code)))
            except Unreadable:
                return ()
        return code.body.slots[0]

    def _read_slots(self, code: Code) -> Iterator[tuple[str, int, bool]]:
        layout, objects, header = self._objects.layout, self._objects, code.header
        names = objects.items(U64(header, layout.code_local_names)[0], NAMES_LIMIT)
        if layout.code_local_kinds >= 0:
            kinds = objects.data(U64(header, layout.code_local_kinds)[0], NAMES_LIMIT)
            for index, (name, kind) in enumerate(zip(names, kinds)):
                if not kind & _HIDDEN:
                    yield objects.text(name), index, bool(kind & (_CELL | _FREE))
            return
        for where in (layout.code_cells, layout.code_frees):
            names += objects.items(U64(header, where)[0], NAMES_LIMIT)
        (count,) = struct.unpack_from("<i", header, layout.code_local_count)
        for index, name in enumerate(names):
            yield objects.text(name), index, index >= count

    def _globals(self, frame: RawFrame, every: bool) -> Iterator[tuple[str, str, str]]:
        where = self._objects.pointer(frame.address + self._objects.layout.frame_globals)
        pairs = list(dicts.entries(self._objects, where, GLOBALS_LIMIT))
        for key, value in pairs if every else self._identifying(pairs):
            shown = self._show(value, False)
            if shown:
                name = self._objects.text(key)
                if not name.startswith("__") and (every or name in scope.IDENTITY):
                    yield (name, *shown)

    def _identifying(self, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Those of the globals that tell which rank this is; a fork with the same names need not spell them out again."""
        keys = tuple(key for key, _ in pairs)
        if keys not in self._telling:
            texts = [self._objects.text(key) for key in keys]
            self._telling[keys] = tuple(place for place, text in enumerate(texts) if text in scope.IDENTITY)
        return [pairs[place] for place in self._telling[keys]]

    def _show(self, pointer: int, is_cell: bool) -> tuple[str, str] | None:
        """A value as its repr and its type; None for what is no scalar or cannot be read."""
        if not pointer:
            return None
        try:
            if is_cell:
                pointer = self._inside(pointer)
            return self._value(pointer, 1) if pointer else None
        except (Unreadable, struct.error):
            return None

    def _inside(self, pointer: int) -> int:
        """What a cell holds; the slot of an argument holds the value itself until the cell is made."""
        raw = self._objects.memory.read_some(pointer, _HEAD)
        return int(U64(raw, self._objects.layout.cell_value)[0]) if self._kind(raw) == "cell" else pointer

    def _kind(self, raw: bytes) -> str:
        return self._objects.built_in(U64(raw, self._objects.layout.object_type)[0])

    def _value(self, pointer: int, nesting: int) -> tuple[str, str] | None:
        raw = self._objects.memory.read_some(pointer, _HEAD)
        kind = self._kind(raw)
        text = self._scalar(pointer, raw, kind) if kind in _SCALARS else None
        if nesting and kind in ("list", "tuple"):
            text = self._sequence(pointer, kind, nesting)
        elif nesting and kind == "dict":
            text = self._dict(pointer, nesting)
        return None if text is None else (_cut(text), kind)

    def _scalar(self, pointer: int, raw: bytes, kind: str) -> str | None:
        if kind == "NoneType":
            return "None"
        if kind == "bool":
            return "True" if self._integer(pointer, raw) else "False"
        if kind == "int":
            return str(self._integer(pointer, raw))
        if kind == "float":
            return repr(struct.unpack_from("<d", raw, self._objects.layout.float_value)[0])
        return repr(self._objects.text(pointer, VALUE_LIMIT)) if self._strings else None

    def _integer(self, pointer: int, raw: bytes) -> int:
        layout = self._objects.layout
        count, negative = int_shape(layout, raw)
        if count > DIGITS_LIMIT:
            raise Unreadable("a number of this size is no counter")
        if layout.int_digits + 4 * count > len(raw):
            raw = self._objects.memory.read(pointer, layout.int_digits + 4 * count)
        value = 0
        for place in range(count):
            value |= U32(raw, layout.int_digits + 4 * place)[0] << 30 * place
        return -value if negative else value

    def _sequence(self, pointer: int, kind: str, nesting: int) -> str | None:
        layout, objects = self._objects.layout, self._objects
        (count,) = U64(objects.memory.read(pointer + layout.sized_size, 8))
        if count > ITEMS_LIMIT:
            return None
        first = pointer + layout.tuple_items if kind == "tuple" else objects.pointer(pointer + layout.list_items)
        raw = objects.memory.read(first, 8 * count) if count else b""
        items = [self._value(item, nesting - 1) for item in struct.unpack(f"<{count}Q", raw)]
        if None in items:
            return None
        body = ", ".join(item[0] for item in items if item)
        if kind == "list":
            return f"[{body}]"
        return f"({body},)" if count == 1 else f"({body})"

    def _dict(self, pointer: int, nesting: int) -> str | None:
        layout, objects = self._objects.layout, self._objects
        (count,) = U64(objects.memory.read(pointer + layout.dict_used, 8))
        if count > ITEMS_LIMIT:
            return None
        shown = []
        for pair in dicts.entries(objects, pointer, 4 * ITEMS_LIMIT):
            key, value = (self._value(each, nesting - 1) for each in pair)
            if key is None or value is None:
                return None
            shown.append(f"{key[0]}: {value[0]}")
        return "{" + ", ".join(shown) + "}"


def _cut(text: str) -> str:
    return text if len(text) <= VALUE_LIMIT else text[: VALUE_LIMIT - 1] + "…"
