"""Symbols of an ELF image (System V ABI, gABI chapter 5), from its file or straight from the memory it is loaded in.

An address given here is relative to where the image's first byte is mapped: add it to the start of the mapping whose
offset is 0. Dynamic symbols are found through the hash tables, as the loader does, so a library with a quarter of a
million symbols costs a handful of reads. Section tables (``.symtab``, named sections) exist in files only.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Callable, Union

from .source import Memory, Unreadable

PT_LOAD, PT_DYNAMIC = 1, 2
DT_HASH, DT_STRTAB, DT_SYMTAB, DT_GNU_HASH = 4, 5, 6, 0x6FFFFEF5
SHT_SYMTAB, SHT_DYNSYM = 2, 11
SYMBOL = struct.Struct("<IBBHQQ")  # name, info, other, section, value, size
SEGMENT = struct.Struct("<IIQQQQQQ")  # type, flags, offset, vaddr, paddr, filesz, memsz, align
SECTION = struct.Struct("<IIQQQQIIQQ")  # name, type, flags, addr, offset, size, link, info, align, entsize
HEADERS_LIMIT = 4096
DYNAMIC_LIMIT = 1024
CHAIN_LIMIT = 65536

Bytes = Union[bytes, mmap.mmap]


class BadElf(Exception):
    """Not a 64-bit little-endian ELF image, or a damaged one."""


@dataclass(frozen=True)
class Image:
    """An image that can be read by address; ``base`` is added by a running loader to some of its pointers."""

    read: Callable[[int, int], bytes]
    first: int  # the address its first byte was linked for
    base: int
    dynamic: tuple[int, int] | None  # address and size of PT_DYNAMIC

    def relative(self, pointer: int) -> int:
        """Turn a pointer of the dynamic section, moved by the loader or not, into one of ours."""
        return pointer - self.base if self.base > self.first and pointer >= self.base else pointer - self.first


def in_file(path: str, names: Sequence[str]) -> dict[str, int]:
    """Find symbols in a file: dynamic ones first, then those of ``.symtab``. What is not there is not in the answer."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size < 64:
            raise BadElf("too short")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return in_bytes(data, names)


def in_bytes(data: Bytes, names: Sequence[str]) -> dict[str, int]:
    """Find symbols in the content of a file."""
    with _damage():
        image = _file_image(data)
        found = dict(_hashed(image, names))
        for kind in (SHT_DYNSYM, SHT_SYMTAB):
            missing = [name for name in names if name not in found]
            if missing:
                found.update(_listed(data, kind, missing, image.first))
        return found


def in_memory(memory: Memory, base: int, names: Sequence[str]) -> dict[str, int]:
    """Find dynamic symbols of the image whose first byte lies at ``base``; needs no file, so works when it is gone."""

    def read(address: int, size: int) -> bytes:
        return memory.read(base + address, size)

    with _damage():
        first, dynamic, _ = _layout(read)
        return dict(_hashed(Image(read, first, base, dynamic), names))


def section(path: str, names: Sequence[str]) -> tuple[int, int] | None:
    """Find the first section of a file that has one of these names: its address and size."""
    wanted = [name.encode() + b"\0" for name in names]
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data, _damage():
        first = _file_image(data).first
        sections, texts = _sections(data)
        for name, _, _, address, _, size, *_ in sections:
            if address and any(texts[name : name + len(each)] == each for each in wanted):
                return address - first, size
    return None


class _damage:
    """Turns what damaged bytes do to struct and slices into BadElf."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, (struct.error, Unreadable, ArithmeticError, LookupError, ValueError)):
            raise BadElf(str(error)) from None


def _layout(read: Callable[[int, int], bytes]) -> tuple[int, tuple[int, int] | None, list[tuple[int, int, int]]]:
    """Read the program headers: first address, dynamic section, and the loads as (address, file size, file offset)."""
    head = read(0, 64)
    if head[:6] != b"\x7fELF\x02\x01":
        raise BadElf("not a 64-bit little-endian ELF image")
    (offset,) = struct.unpack_from("<Q", head, 0x20)
    size, count = struct.unpack_from("<HH", head, 0x36)
    if size != SEGMENT.size or not 0 < count <= HEADERS_LIMIT:
        raise BadElf("odd program headers")
    segments = list(SEGMENT.iter_unpack(read(offset, size * count)))
    loads = [(s[3], s[5], s[2]) for s in segments if s[0] == PT_LOAD]
    # Only the lowest segment says where the image begins: tools that rewrite libraries (patchelf, the CUDA wheels of torch)
    # append segments whose place in the file lies behind their address.
    lowest = min(loads, default=(0, 0, 0))
    first = lowest[0] - lowest[2]
    dynamic = next(((s[3] - first, s[6]) for s in segments if s[0] == PT_DYNAMIC), None)
    return first, dynamic, [(address - first, length, offset) for address, length, offset in loads]


def _file_image(data: Bytes) -> Image:
    first, dynamic, loads = _layout(lambda start, size: _cut(data, start, size))

    def read(address: int, size: int) -> bytes:
        for start, length, offset in loads:
            if start <= address and address + size <= start + length:
                return _cut(data, offset + address - start, size)
        raise BadElf(f"{size} bytes at {address:#x} are in no segment")

    return Image(read, first, 0, dynamic)


def _cut(data: Bytes, start: int, size: int) -> bytes:
    piece = data[start : start + size] if start >= 0 and size >= 0 else b""
    if len(piece) != size:
        raise BadElf("cut off")
    return piece


def _hashed(image: Image, names: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Look names up as the dynamic loader does."""
    if image.dynamic is None:
        return
    address, size = image.dynamic
    entries = struct.iter_unpack("<qQ", image.read(address, min(size, DYNAMIC_LIMIT * 16) // 16 * 16))
    tags = {tag: image.relative(value) for tag, value in entries if tag in (DT_HASH, DT_STRTAB, DT_SYMTAB, DT_GNU_HASH)}
    if DT_STRTAB not in tags or DT_SYMTAB not in tags:
        return
    for name in names:
        candidates = _gnu_chain(image, tags[DT_GNU_HASH], name) if DT_GNU_HASH in tags else iter(())
        if DT_GNU_HASH not in tags and DT_HASH in tags:
            candidates = _old_chain(image, tags[DT_HASH], name)
        value = _first_match(image, tags, candidates, name.encode() + b"\0")
        if value is not None:
            yield name, value


def _first_match(image: Image, tags: dict[int, int], candidates: Iterator[int], name: bytes) -> int | None:
    for index in candidates:
        entry = image.read(tags[DT_SYMTAB] + index * SYMBOL.size, SYMBOL.size)
        text, _, _, where, value, _ = SYMBOL.unpack(entry)
        if where and image.read(tags[DT_STRTAB] + text, len(name)) == name:
            return int(value) - image.first
    return None


def _gnu_chain(image: Image, table: int, name: str) -> Iterator[int]:
    """Yield the symbols whose hash equals that of the name, from a DT_GNU_HASH table."""
    wanted = 5381
    for byte in name.encode():
        wanted = (wanted * 33 + byte) & 0xFFFFFFFF
    buckets, lowest, words, _ = struct.unpack("<4I", image.read(table, 16))
    first_bucket = table + 16 + words * 8
    (index,) = struct.unpack("<I", image.read(first_bucket + wanted % buckets * 4, 4))
    for _ in range(CHAIN_LIMIT if index >= lowest else 0):
        (value,) = struct.unpack("<I", image.read(first_bucket + buckets * 4 + (index - lowest) * 4, 4))
        if value | 1 == wanted | 1:
            yield index
        if value & 1:
            return
        index += 1


def _old_chain(image: Image, table: int, name: str) -> Iterator[int]:
    """Yield the symbols in the bucket of the name, from a DT_HASH table."""
    wanted = 0
    for byte in name.encode():
        wanted = (wanted << 4) + byte
        wanted = (wanted ^ (wanted & 0xF0000000) >> 24) & 0x0FFFFFFF
    buckets, _ = struct.unpack("<II", image.read(table, 8))
    (index,) = struct.unpack("<I", image.read(table + 8 + wanted % buckets * 4, 4))
    for _ in range(CHAIN_LIMIT):
        if not index:
            return
        yield index
        (index,) = struct.unpack("<I", image.read(table + 8 + (buckets + index) * 4, 4))


def _sections(data: Bytes) -> tuple[list[tuple[int, ...]], bytes]:
    """Read the section headers and the text with their names; stripped of them, a file has none."""
    (offset,) = struct.unpack("<Q", _cut(data, 0x28, 8))
    size, count, names = struct.unpack("<HHH", _cut(data, 0x3A, 6))
    if not offset or size != SECTION.size or names >= count:
        return [], b""
    sections = list(SECTION.iter_unpack(_cut(data, offset, size * count)))
    return sections, _cut(data, sections[names][4], sections[names][5])


def _listed(data: Bytes, kind: int, names: Sequence[str], first: int) -> Iterator[tuple[str, int]]:
    """Look names up in a symbol table that has no hash table, by searching its bytes."""
    sections, _ = _sections(data)
    for table in (s for s in sections if s[1] == kind):
        texts = sections[table[6]]
        symbols = _cut(data, table[4], table[5])
        for name in names:
            value = _search(data, symbols, texts[4], texts[5], name.encode() + b"\0")
            if value is not None:
                yield name, value - first


def _search(data: Bytes, symbols: bytes, texts: int, size: int, name: bytes) -> int | None:
    """Find the defined symbol with this name: its text first (linkers share tails), then the entry that points there."""
    where = data.find(name, texts, texts + size)
    while where >= 0:
        key = struct.pack("<I", where - texts)
        at = symbols.find(key)
        while at >= 0:
            if at % SYMBOL.size == 0 and at + SYMBOL.size <= len(symbols):
                _, _, _, place, value, _ = SYMBOL.unpack_from(symbols, at)
                if place:
                    return int(value)
            at = symbols.find(key, at + 1)
        where = data.find(name, where + 1, texts + size)
    return None
