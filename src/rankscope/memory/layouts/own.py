"""Offsets that a process carries itself: ``_Py_DebugOffsets``, first thing in ``_PyRuntime`` since CPython 3.13.

The record grows from one minor version to the next, so each has its order of fields here; within a minor version it is
fixed. What it does not tell comes from the measured table of 3.13.
"""

from __future__ import annotations

import struct
from dataclasses import fields, replace

from . import py313
from .layout import Layout

COOKIE = b"xdebugpy"
SIZE = 1024

# A dash stands for fields we have no use for.
_FIELDS = {
    13: """
        runtime: - finalizing head
        interp: - - next threads - modules - - gil - - - -
        thread: - - next interp frame ident native - -
        frame: - back code instruction values owner
        code: - file - name lines first_line - local_names local_kinds instructions
        object: - type
        type: - name - flags
        tuple: - items -
        list: - items -
        dict: - keys values
        float: - value
        int: - size digits
        bytes: - - data
        text: - state length ascii
    """,
    14: """
        runtime: - finalizing head
        interp: - - next threads - - modules - - gil - - - - - -
        thread: - - next interp frame ident native - -
        frame: - back code instruction values owner - -
        code: - file - name lines first_line - local_names local_kinds instructions -
        object: - type
        type: - name - flags
        tuple: - items -
        list: - items -
        set: - - - -
        dict: - keys values
        float: - value
        int: - size digits
        bytes: - - data
        text: - state length ascii
    """,
}


def _order(text: str) -> list[str]:
    order: list[str] = []
    for line in text.split("\n"):
        structure, _, names = line.strip().partition(":")
        order.extend("" if name == "-" else f"{structure}_{name}" for name in names.split())
    return order


def carried(head: bytes) -> tuple[int, int] | None:
    """The version of the interpreter that this ``_PyRuntime`` describes, None for one without the record."""
    if head[:8] != COOKIE or len(head) < 24:
        return None
    (number,) = struct.unpack_from("<Q", head, 8)
    return number >> 24 & 0xFF, number >> 16 & 0xFF


def layout(head: bytes) -> Layout | None:
    """The layout that the record at the start of ``_PyRuntime`` tells; None for a version we do not know."""
    version = carried(head)
    text = _FIELDS.get(version[1]) if version and version[0] == 3 else None
    if version is None or text is None:
        return None
    order = _order(text)
    if len(head) < 24 + 8 * len(order):
        return None
    (free_threaded,) = struct.unpack_from("<Q", head, 16)
    values = struct.unpack_from(f"<{len(order)}Q", head, 24)
    told = {name: value for name, value in zip(order, values) if name and hasattr(py313.LAYOUT, name)}
    if any(value >= 1 << 24 for value in told.values()):
        return None
    base = replace(py313.LAYOUT, version=version, free_threaded=bool(free_threaded))
    return _joined(replace(base, **told))


def _joined(told: Layout) -> Layout:
    """Fill in what follows from the rest."""
    # A free-threaded build has a longer head on every object; what these say first lies right behind it.
    behind = told.object_type + 8
    return replace(
        told,
        thread_size=_end(told, "thread"),
        frame_size=_end(told, "frame"),
        code_size=_end(told, "code"),
        code_names=behind + 16,  # behind the size and the constants
        sized_size=behind,
        dict_used=behind,
        cell_value=behind,
        module_dict=behind,
        text_wide=told.text_ascii + 16,  # the length and place of its UTF-8 form come first
    )


def _end(told: Layout, structure: str) -> int:
    """Where the last field that we read of a structure ends."""
    names = (each.name for each in fields(told) if each.name.startswith(f"{structure}_") and each.name[-5:] != "_size")
    return max(int(getattr(told, name)) for name in names) + 8
