"""Interpreters from 3.13 on tell their offsets themselves; those that are not on this machine are made up here."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from harness.pieces import BytesMemory
from rankscope.memory import dicts, frames, layouts
from rankscope.memory.code import Body, Code, frame_of
from rankscope.memory.layouts import Layout, own
from rankscope.memory.objects import Objects
from rankscope.memory.source import Unreadable

V313, V314 = 0x030D05F0, 0x030E00F0
MEASURED = layouts.table((3, 13))
assert MEASURED is not None


def head(version: int, free_threaded: bool, **changed: int) -> bytes:
    """What a process carries at the start of its _PyRuntime: the measured offsets, but for some."""
    order = own._order(own._FIELDS[version >> 16 & 0xFF])
    values = [changed.get(name, getattr(MEASURED, name, 0)) if name else 0 for name in order]
    return own.COOKIE + struct.pack(f"<QQ{len(values)}Q", version, free_threaded, *values)


def told(version: int, free_threaded: bool = False, **changed: int) -> Layout:
    layout = own.layout(head(version, free_threaded, **changed))
    assert layout is not None
    return layout


def test_what_3_13_tells_of_itself_is_what_was_measured() -> None:
    """The carried record and the measured table say the same, so either can stand for the other."""
    layout = told(V313)
    assert 0 <= layout.frame_size - MEASURED.frame_size <= 8
    assert 0 <= layout.code_size - MEASURED.code_size <= 8
    assert replace(layout, frame_size=MEASURED.frame_size, code_size=MEASURED.code_size) == MEASURED


def test_a_new_patch_release_needs_no_table() -> None:
    """Offsets that moved are taken from the process."""
    layout = told(V313, thread_frame=80, frame_owner=74, code_lines=144)
    assert (layout.thread_frame, layout.frame_owner, layout.code_lines) == (80, 74, 144)
    assert layout.code_size == max(144, layout.code_instructions) + 8


def test_a_version_whose_record_is_not_known_is_no_guess() -> None:
    """Its fields may stand in another order; others are asked then."""
    assert own.layout(own.COOKIE + struct.pack("<QQ", 0x030F00F0, 0) + bytes(900)) is None
    assert own.layout(head(V314, False)[:200]) is None


def free_threaded() -> Layout:
    """A build without the interpreter lock: every object begins with 16 bytes more."""
    return told(V314, True, object_type=24, tuple_items=40, bytes_data=48, text_length=32, text_state=48, text_ascii=56)


def test_a_free_threaded_build_is_recognised() -> None:
    """Its objects have a longer head; what follows from that is worked out."""
    layout = free_threaded()
    assert layout.free_threaded
    assert layout.version == (3, 14)
    assert (layout.sized_size, layout.cell_value, layout.module_dict, layout.text_wide) == (32, 32, 32, 72)
    assert not told(V314).free_threaded


def test_dictionaries_of_a_free_threaded_build_are_left_alone() -> None:
    """Their tables have another shape, which nobody measured: no name is better than a wrong one."""
    memory = BytesMemory({0x1000: bytes(4096)})
    with pytest.raises(Unreadable):
        dicts.lookup(Objects(memory, free_threaded(), {}), 0x1000, "_name")


def test_frames_of_3_14_are_followed_through_marks_and_shims() -> None:
    """Pointers to code carry marks in their lowest bits; what the interpreter puts between calls from C is no frame."""
    layout, at = told(V314), (0x10000, 0x10100, 0x10200)
    pieces = {}
    for place, (address, owner) in enumerate(zip(at, (0, 3, 1))):
        raw = bytearray(layout.frame_size)
        struct.pack_into("<Q", raw, layout.frame_back, at[place + 1] if place < 2 else 0)
        struct.pack_into("<Q", raw, layout.frame_code, (0x20000 + 0x100 * place) | 1)
        struct.pack_into("<Q", raw, layout.frame_instruction, 0x20000 + 0x100 * place + layout.code_instructions + 4)
        raw[layout.frame_owner] = owner
        pieces[address] = bytes(raw).ljust(0x100, b"\0")
    chain = frames.walk(BytesMemory({at[0]: b"".join(pieces.values())}), layout, at[0])
    assert chain.whole
    assert [frame.code for frame in chain.frames] == [0x20000, 0x20200]


def test_a_line_of_copied_instructions_is_not_guessed() -> None:
    """A thread of a free-threaded build may run a copy of the code that lies elsewhere."""
    table = bytes([0x80 | 10 << 3 | 1, 0, 0])  # two instructions, on the first line
    code = Code(0x20000, b"", Body("train.py", "step", 7, table))
    layout = free_threaded()
    assert frame_of(layout, code, 0x20000 + layout.code_instructions).line == 7
    assert frame_of(layout, code, 0x7F0000000000).line == 0
