"""From an instruction to its source line: the three tables CPython has had, as pure functions over their bytes.

``at`` is the offset of the instruction in bytes; 0 stands for "no line".
"""

from __future__ import annotations

from .layouts import Lines


def lnotab(table: bytes, first: int, at: int) -> int:
    """Up to 3.9: pairs of a step in bytes and a signed step in lines (Objects/lnotab_notes.txt)."""
    address, line = 0, first
    for index in range(0, len(table) - 1, 2):
        address += table[index]
        if address > at:
            break
        step = table[index + 1]
        line += step - 256 if step > 127 else step
    return line


def ranges(table: bytes, first: int, at: int) -> int:
    """3.10: pairs of a length in bytes and a signed step in lines, −128 for "no line" (PEP 626)."""
    end, line = 0, first
    if at < 0:
        return first
    for index in range(0, len(table) - 1, 2):
        end += table[index]
        step = table[index + 1]
        if step != 128:
            line += step - 256 if step > 127 else step
        if at < end:
            return 0 if step == 128 else line
    return 0


def locations(table: bytes, first: int, at: int) -> int:
    """3.11 and later: entries that begin with a byte of kind and length, and tell columns too (PEP 657)."""
    if at < 0:
        return first
    position, line, index, size = 0, first, 0, len(table)
    while index < size:
        head = table[index]
        kind, length = head >> 3 & 15, ((head & 7) + 1) * 2
        index += 1
        if kind in (13, 14):
            step, index = _signed(table, index)
            line += step
        elif 10 <= kind <= 12:
            line += kind - 10
        if position <= at < position + length:
            return 0 if kind == 15 else line
        position += length
        index = _after_columns(table, index, kind)
    return 0


def _after_columns(table: bytes, index: int, kind: int) -> int:
    if kind < 10:
        return index + 1
    if kind <= 12:
        return index + 2
    for _ in range(3 if kind == 14 else 0):
        while index < len(table) and table[index] & 64:
            index += 1
        index += 1
    return index


def _signed(table: bytes, index: int) -> tuple[int, int]:
    """Read one signed number, six bits a byte, lowest first; its lowest bit is the sign."""
    value = shift = 0
    while index < len(table):
        byte = table[index]
        index += 1
        value |= (byte & 63) << shift
        shift += 6
        if not byte & 64 or shift > 60:
            break
    return (-(value >> 1) if value & 1 else value >> 1), index


LINE_OF = {Lines.LNOTAB: lnotab, Lines.RANGES: ranges, Lines.LOCATIONS: locations}
