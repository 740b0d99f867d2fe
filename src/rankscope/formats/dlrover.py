"""DLRover's ``RRRRR-WWWWW.stacktrace``: one process, its native and Python threads, as a protobuf message.

The message is ``Stacktrace`` of xpu_timer/protos/hosting_service.proto; only the fields named here are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Union

from ..model.evidence.stacks import Frame, PythonThread, Stack, Trust
from ..model.gap import Gap, Why
from ..model.patterns import regex
from ..model.ranks import MOST_RANKS
from .building import FRAME_LIMIT
from .records import Dump

NAME = "DLRover stack trace"
MOST_FIELDS = 1 << 20
_NATIVE, _PYTHON, _PID, _RANK = 1, 2, 3, 4  # fields of Stacktrace
_PLACE = regex(r"^(.*?)(?::(\d{1,7}))?$")

Value = Union[int, bytes]


class Damaged(ValueError):
    """The bytes are no such message."""


def recognises(head: bytes) -> bool:
    """Whether bytes begin with a thread: a message of numbers and names that holds a frame."""
    if head[:1] not in (b"\x0a", b"\x12"):
        return False
    try:
        length, at = _varint(head, 1)
        thread = head[at : at + length]
        fields = list(_fields(thread))
    except Damaged:
        return False
    frames = 3 if head[:1] == b"\x0a" else 7
    return len(thread) == length and any(number == frames and _is_frame(value) for number, value in fields)


def _is_frame(value: Value) -> bool:
    try:
        return isinstance(value, bytes) and {number for number, _ in _fields(value)} <= {1, 2, 3} and bool(value)
    except Damaged:
        return False


def read(data: bytes, name: str = "") -> Iterator[Dump | Gap]:
    """All threads; what comes after damage is lost, and that is told."""
    pid = rank = None
    threads: list[tuple[bool, bytes]] = []
    damage: str | None = None
    try:
        for number, value in _fields(data):
            if number in (_NATIVE, _PYTHON) and isinstance(value, bytes):
                threads.append((number == _NATIVE, value))
            elif number == _PID and isinstance(value, int):
                pid = value
            elif number == _RANK and isinstance(value, int):
                rank = value if value < MOST_RANKS else None  # a negative one is a number of ten bytes
    except Damaged as error:
        damage = str(error)
    for native, raw in threads:
        try:
            yield _thread(raw, native, pid, rank)
        except Damaged as error:
            damage = str(error)
    if damage is not None:
        yield Gap(name, Why.DAMAGED, f"{NAME}: {damage}")


def _thread(raw: bytes, native: bool, pid: int | None, rank: int | None) -> Dump:
    """Of a native thread: number, name, frames; of a Python one as py-spy's JSON has it."""
    held = list(_fields(raw))
    one = dict(held)
    frames = [value for number, value in held if number == (3 if native else 7) and isinstance(value, bytes)]
    stack = Stack(_frame(frame, native) for frame in reversed(frames[:FRAME_LIMIT]))
    tid, named = (one.get(1), one.get(2)) if native else (one.get(4), one.get(3))
    thread = PythonThread(
        tid=tid if isinstance(tid, int) and tid else None, stack=stack, name=_text(named) or None, trust=Trust.REPORTED,
        holds_gil=one.get(6) == 1 and not native, active=None if native else one.get(5) == 1,
    )  # fmt: skip
    return Dump(thread, NAME, native=native, pid=pid, rank=rank)


def _frame(raw: bytes, native: bool) -> Frame:
    """``file_name`` has the line behind a colon; of a native frame it is the library, where gdb knew no source."""
    one = dict(_fields(raw))
    place = _PLACE.match(_text(one.get(2)))
    file, line = (place.group(1), int(place.group(2) or 0)) if place else ("", 0)
    return Frame(_text(one.get(1)) or "?", "" if native else file, line, (file or "?") if native else None)


def _text(value: Value | None) -> str:
    return value[:4096].decode("utf-8", "replace") if isinstance(value, bytes) else ""


def _fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """(number, value) of each field of a message, as protobuf.dev/programming-guides/encoding says; fixed widths are skipped."""
    at = count = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        count += 1
        if not 0 < number < 64 or count > MOST_FIELDS:
            raise Damaged(f"no field {number} at byte {at}")
        if kind == 0:
            value, at = _varint(data, at)
            yield number, value
        elif kind == 2:
            length, at = _varint(data, at)
            if length > len(data) - at:
                raise Damaged("it ends early")
            yield number, data[at : at + length]
            at += length
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise Damaged(f"no wire type {kind} at byte {at}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    raise Damaged("a number does not end")
