"""The exception that a thread is handling: it stands in an ``except`` or ``finally``, or in what those called.

A thread's state leads to a chain of records, the innermost first: one of its own, and one of each generator that is running.
"""

from __future__ import annotations

from .objects import U32, Objects, int_shape
from .source import Unreadable

_NEWEST = (3, 13)
_RECORDS_LIMIT = 16
_OS_ERRORS = frozenset(
    {
        "OSError", "FileExistsError", "FileNotFoundError", "PermissionError", "BlockingIOError", "ChildProcessError",
        "ConnectionError", "BrokenPipeError", "ConnectionAbortedError", "ConnectionRefusedError", "ConnectionResetError",
        "InterruptedError", "IsADirectoryError", "NotADirectoryError", "ProcessLookupError", "TimeoutError",
    }
)  # fmt: skip


def of(objects: Objects, thread: int) -> tuple[str, int]:
    """Its type and the error number of the system, for the thread state at an address; empty and 0 where there is none."""
    layout = objects.layout
    if layout.version > _NEWEST or layout.free_threaded:
        return "", 0
    try:
        error = _innermost(objects, objects.pointer(thread + layout.thread_caught))
        kind = objects.pointer(error + layout.object_type) if error else 0
        name = objects.type_name(kind) if kind else ""
        return name, _number(objects, error) if objects.built_in(kind) in _OS_ERRORS else 0
    except Unreadable:
        return "", 0


def _innermost(objects: Objects, record: int) -> int:
    """The first exception of the chain, 0 where nothing is being handled."""
    layout = objects.layout
    for _ in range(_RECORDS_LIMIT):
        if not record:
            return 0
        error = objects.pointer(record + layout.caught_error)
        if error and objects.type_name(objects.pointer(error + layout.object_type)) != "NoneType":
            return error
        record = objects.pointer(record + layout.caught_before)
    return 0


def _number(objects: Objects, error: int) -> int:
    """The number of an OSError, when it is one of the system's."""
    layout = objects.layout
    number = objects.pointer(error + layout.error_number)
    if not number or objects.type_name(objects.pointer(number + layout.object_type)) != "int":
        return 0
    raw = objects.memory.read(number, layout.int_digits + 4)
    digits, negative = int_shape(layout, raw)
    return int(U32(raw, layout.int_digits)[0]) if digits == 1 and not negative else 0
