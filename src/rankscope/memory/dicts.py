"""Dictionaries and the attributes of instances, read without calling anybody (Objects/dictobject.c of each version)."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from .layouts import Attributes
from .objects import I64, U64, Objects
from .source import Unreadable

ENTRIES_LIMIT = 20_000
_WORD = 8
MANAGED_DICT = 1 << 4  # Py_TPFLAGS_MANAGED_DICT
INLINE_VALUES = 1 << 2  # Py_TPFLAGS_INLINE_VALUES
_SPLIT = 2


def entries(objects: Objects, address: int, limit: int = ENTRIES_LIMIT) -> Iterator[tuple[int, int]]:
    """Yield (key, value) addresses of a dict in order of insertion, at most ``limit`` of them."""
    layout = objects.layout
    raw = objects.memory.read(address, layout.dict_values + _WORD)
    keys, values = U64(raw, layout.dict_keys)[0], U64(raw, layout.dict_values)[0]
    if values:
        values += _values_start(objects)
    yield from _table(objects, keys, values, limit)


def _values_start(objects: Objects) -> int:
    # Since 3.13 bare values begin with a word of their own: capacity, size, whether they are valid.
    return _WORD if objects.layout.attributes is Attributes.INLINE else 0


def _table(objects: Objects, keys: int, values: int, limit: int) -> Iterator[tuple[int, int]]:
    """Yield the entries of a table of keys; their values lie in it, or in an array at ``values``."""
    start, count, width = _shape(objects, keys)
    count = min(count, limit)
    raw = objects.memory.read(start, count * width) if count else b""
    held = objects.memory.read(values, count * _WORD) if values and count else b""
    for index in range(count):
        key, value = struct.unpack_from("<QQ", raw, index * width + width - 16)
        if values:
            (value,) = U64(held, index * _WORD)
        if key and value:
            yield key, value


def _shape(objects: Objects, keys: int) -> tuple[int, int, int]:
    """Where the entries of a table of keys begin, how many there are, and how wide each is."""
    if objects.layout.free_threaded:
        raise Unreadable("dictionaries of free-threaded builds are not read")
    raw = objects.memory.read(keys, 40)
    if objects.layout.version < (3, 11):
        (size,) = I64(raw, 8)
        if size <= 0 or size & (size - 1) or size > 1 << 32:
            raise Unreadable(f"no dict keys at {keys:#x}")
        index_size = 1 if size <= 0xFF else 2 if size <= 0xFFFF else 4
        start, width, count = keys + 40 + size * index_size, 24, I64(raw, 32)[0]
    else:
        log_bytes, kind = raw[9], raw[10]
        if raw[8] > 40 or log_bytes > 43 or kind > _SPLIT:
            raise Unreadable(f"no dict keys at {keys:#x}")
        start, width, count = keys + 32 + (1 << log_bytes), 16 if kind else 24, I64(raw, 24)[0]
    if not 0 <= count <= 1 << 32:
        raise Unreadable(f"no dict keys at {keys:#x}")
    return start, count, width


def lookup(objects: Objects, address: int, name: str, limit: int = ENTRIES_LIMIT) -> int:
    """The address of the value that a dict has under a string key, 0 for none."""
    raw = objects.memory.read(address, objects.layout.dict_values + _WORD)
    values = U64(raw, objects.layout.dict_values)[0]
    return _value(
        objects, U64(raw, objects.layout.dict_keys)[0], values and values + _values_start(objects), name, limit
    )


def _value(objects: Objects, keys: int, values: int, name: str, limit: int = ENTRIES_LIMIT) -> int:
    """The value under a name in a table of keys, 0 for none; as with ``_table``, it may lie in an array of its own."""
    start, count, width = _shape(objects, keys)
    raw = objects.memory.read(start, min(count, limit) * width) if count else b""
    place = _place(objects, raw, width, name)
    if place < 0:
        return 0
    return objects.pointer(values + place * _WORD) if values else int(U64(raw, place * width + width - _WORD)[0])


def _place(objects: Objects, raw: bytes, width: int, name: str) -> int:
    """Which entry of a table has this name as its key, -1 for none."""
    word = objects.word(name)
    at = raw.find(word.to_bytes(_WORD, "little")) if word else -1
    if at >= 0 and at % width == width - 2 * _WORD:
        return at // width
    for place in range(len(raw) // width):
        key = U64(raw, place * width + width - 2 * _WORD)[0]
        try:
            if key and objects.text(key, len(name) + 1) == name:
                objects.met(name, key)
                return place
        except Unreadable:
            continue
    return -1


def attribute(objects: Objects, address: int, name: str) -> int:
    """The address of an instance's own attribute, 0 for none. Slots and class attributes are not looked for."""
    layout, memory = objects.layout, objects.memory
    kind = objects.pointer(address + layout.object_type)
    head = memory.read(kind, layout.type_keys + _WORD)
    flags = U64(head, layout.type_flags)[0]
    keys = U64(head, layout.type_keys)[0]
    if layout.attributes is Attributes.DICT or not flags & MANAGED_DICT:
        offset = I64(head, layout.type_dict_offset)[0]
        held = objects.pointer(address + offset) if 0 < offset < 1 << 20 else 0
        return lookup(objects, held, name) if held else 0
    before = memory.read(address - 4 * _WORD, 2 * _WORD)
    bare, held = _managed(objects, address, flags, U64(before, 0)[0], U64(before, _WORD)[0])
    if bare:
        return _value(objects, keys, bare, name, 256)
    return lookup(objects, held, name) if held else 0


def _managed(objects: Objects, address: int, flags: int, first: int, second: int) -> tuple[int, int]:
    """Where a managed instance keeps its attributes: bare values, or a dict (the other is 0)."""
    where = objects.layout.attributes
    if where is Attributes.BEFORE:
        return first, second
    if where is Attributes.TAGGED:
        return (second + 1, 0) if second & 1 else (0, second)
    if second or not flags & INLINE_VALUES:
        return 0, second
    return address + objects.layout.object_type + 2 * _WORD, 0
