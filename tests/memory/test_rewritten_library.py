"""Libraries that a tool has rewritten: segments appended behind the rest of the file, as in torch's CUDA wheels."""

from __future__ import annotations

import struct

from rankscope.memory import elf

BASE = 0x10000


def image(*loads: tuple[int, int, int]) -> bytes:
    """The headers of an ELF image with these loads (address, offset, size), padded to hold them."""
    head = (
        b"\x7fELF\x02\x01\x01"
        + bytes(9)
        + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, len(loads), 0, 0, 0)
    )
    table = b"".join(
        struct.pack("<IIQQQQQQ", 1, 4, offset, address, address, size, size, 4096) for address, offset, size in loads
    )
    return (head + table).ljust(0x9000, b"\0")


def test_a_segment_appended_behind_its_address_does_not_move_the_image():
    """GIVEN a load whose place in the file lies behind its address, THEN the image still begins at its lowest segment."""
    first, _, loads = elf._layout(
        lambda start, size: image((0, 0, 0x1000), (0x2000, 0x8000, 0x800))[start : start + size]
    )
    assert first == 0
    assert loads == [(0, 0x1000, 0), (0x2000, 0x800, 0x8000)]


def test_a_program_linked_for_an_address_begins_there():
    """GIVEN loads linked above zero, THEN addresses are told from the first byte of the image."""
    data = image((BASE, 0, 0x1000), (BASE + 0x2000, 0x1000, 0x1000))
    first, _, loads = elf._layout(lambda start, size: data[start : start + size])
    assert first == BASE
    assert loads[1] == (0x2000, 0x1000, 0x1000)
