"""The interpreter's list of threads, when threads come and go while it is read."""

from __future__ import annotations

import struct

import pytest

from harness.pieces import BytesMemory
from rankscope.memory import interpreter, layouts
from rankscope.memory.layouts import Layout
from rankscope.memory.source import Unreadable

RUNTIME, INTERPRETER, STATES = 0x1000_0000, 0x2000_0000, 0x3000_0000
ROOM = 0x4000


def linked(layout: Layout, following: list[int]) -> BytesMemory:
    """An interpreter with these threads, each with the number of the next in the list; -1 ends it."""
    runtime, owner, states = bytearray(ROOM), bytearray(0x40000), bytearray(ROOM * len(following))
    struct.pack_into("<Q", runtime, layout.runtime_head, INTERPRETER)
    struct.pack_into("<Q", owner, layout.interp_threads, STATES)
    for number, after in enumerate(following):
        at = ROOM * number
        struct.pack_into("<Q", states, at + layout.thread_interp, INTERPRETER)
        struct.pack_into("<Q", states, at + layout.thread_next, STATES + ROOM * after if after >= 0 else 0)
    return BytesMemory({RUNTIME: bytes(runtime), INTERPRETER: bytes(owner), STATES: bytes(states)})


@pytest.mark.parametrize("version", layouts.TABLES)
def test_a_list_is_read_from_the_newest_thread_to_the_oldest(version: tuple[int, int]) -> None:
    """Three threads, each known once."""
    layout = layouts.table(version)
    found = interpreter.threads(linked(layout, [1, 2, -1]), layout, RUNTIME)
    assert [each.address for each in found] == [STATES, STATES + ROOM, STATES + 2 * ROOM]


@pytest.mark.parametrize("version", layouts.TABLES)
def test_a_list_that_leads_back_into_itself_is_no_list(version: tuple[int, int]) -> None:
    """An ended thread's place was given to the newest one meanwhile: the older ones, the main thread too, are missing."""
    layout = layouts.table(version)
    with pytest.raises(Unreadable, match="relinked"):
        interpreter.threads(linked(layout, [1, 0, -1]), layout, RUNTIME)
