"""Entries of a flight recorder of any format, put into the shape of the newest one.

Fields came and went: ``seq_id`` became ``collective_seq_id`` and ``p2p_seq_id``, ``pg_name`` became ``process_group``,
microseconds became nanoseconds (torch/csrc/distributed/c10d/FlightRecorder, formats 1 to 2.10). What was never written may be
absent; a value that is none of its field's kind is refused: guessed, it would make calls that the rank never made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..model.evidence.recorder import label_parts
from ..model.ring import STATES
from .plain import Refused

# No program gets as far; a number beyond it was not counted.
MOST_COUNTED = 1 << 48
LONGEST_NAME = 4096
_YES, _NO = (True, 1, "true"), (False, 0, None, "false")


def normal(e: Any) -> dict[str, Any]:
    """An entry of any format, with every field of the newest one and of its type; raise Refused where it is no entry."""
    if not isinstance(e, Mapping):
        raise Refused("some of its entries are none")
    group, desc = _group(e)
    label = _label(e.get("profiling_name", e.get("name")))
    seq = _count(e, "collective_seq_id", "seq_id")
    frames = e.get("frames")
    return {
        "record_id": _count(e, "record_id", "id"),
        "process_group": (group, desc),
        "pg_id": number(e.get("pg_id", -1)),
        "collective_seq_id": seq,
        "p2p_seq_id": number(e.get("p2p_seq_id", 0)),
        "op_id": number(e.get("op_id", seq)),
        "profiling_name": label,
        "time_created_ns": number(e.get("time_created_ns", 0)) or 1000 * number(e.get("time_created_us", 0)),
        "time_discovered_started_ns": number(e.get("time_discovered_started_ns", 0)),
        "time_discovered_completed_ns": number(e.get("time_discovered_completed_ns", 0)),
        "input_sizes": _dims(e.get("input_sizes", e.get("sizes", ()))),
        "output_sizes": _dims(e.get("output_sizes", ())),
        "input_dtypes": _texts(e.get("input_dtypes", ())),
        "output_dtypes": _texts(e.get("output_dtypes", ())),
        "state": _state(e.get("state", "scheduled")),
        "retired": _is_true(e.get("retired", False), "retired"),
        "timeout_ms": number(e.get("timeout_ms", 0)),
        "is_p2p": e.get("is_p2p") is True or label_parts(label)[2] is not None,
        "thread_name": text(e.get("thread_name", "")),
        "frames": [_frame(raw) for raw in frames if isinstance(raw, Mapping)] if isinstance(frames, list) else None,
    }


def counted(value: Any) -> bool:
    """Whether this may be a number that a recorder counted."""
    return type(value) is int and 0 <= value < MOST_COUNTED


def _count(e: Mapping[str, Any], *names: str) -> int:
    """A number that the recorder counts, by its name of today or an earlier one; 0 where its format has none."""
    name = next((name for name in names if name in e), None)
    if name is None:
        return 0
    value = e[name]
    value = int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 20 else value
    if not counted(value):
        raise _no("number", name)
    return int(value)


def _group(e: Mapping[str, Any]) -> tuple[str, str]:
    """The name and the description of its group."""
    if "process_group" not in e:
        found = (e.get("pg_name", e.get("pg_id")), e.get("pg_desc", ""))
    elif isinstance(e["process_group"], (list, tuple)) and e["process_group"]:
        found = (*e["process_group"], "")[:2]
    else:
        raise _no("group", "process_group")
    if not all(isinstance(one, (str, int)) for one in found):
        raise _no("group", "process_group")
    return text(found[0]), text(found[1])


def _label(value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_NAME:
        raise _no("name of an operation", "profiling_name")
    return value


def _state(value: Any) -> str:
    if not isinstance(value, str):
        raise _no("state", "state")
    return value if value in STATES else "scheduled"


def _is_true(value: Any, name: str) -> bool:
    if not isinstance(value, (bool, int, str, type(None))) or value not in (*_YES, *_NO):
        raise _no("truth", name)
    return value in _YES


def _no(what: str, name: str) -> Refused:
    return Refused(f"some of its entries are damaged: {name} is no {what}")


def _frame(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": text(raw.get("name", "")),
        "filename": text(raw.get("filename", raw.get("file", ""))),
        "line": number(raw.get("line", 0)),
    }


def number(value: Any) -> int:
    """A number that fits a column; 0 for whatever is none."""
    if isinstance(value, str) and len(value) > 20:
        return 0
    try:
        found = int(value or 0)
    except (TypeError, ValueError, OverflowError):
        return 0
    return found if -(1 << 63) <= found < 1 << 63 else 0


def text(value: Any) -> str:
    """Text as it is, numbers as text; containers are not stringified, they may be endless."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, (int, float)) and not _huge(value) else ""


def _huge(value: Any) -> bool:
    return isinstance(value, int) and value.bit_length() > 128


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value[:4096]):
        raise _no("list of types", "dtypes")
    return tuple(value[:4096])


def _dims(value: Any) -> tuple[tuple[int, ...], ...]:
    if not isinstance(value, (list, tuple)):
        raise _no("list of shapes", "sizes")
    if value and all(isinstance(item, int) for item in value[:64]):  # one flat shape
        value = [value]
    shapes = [tuple(dims[:64]) for dims in value[: 1 << 18] if isinstance(dims, (list, tuple))]
    if len(shapes) < min(len(value), 1 << 18) or not all(counted(size) for dims in shapes for size in dims):
        raise _no("list of shapes", "sizes")
    return tuple(shapes)
