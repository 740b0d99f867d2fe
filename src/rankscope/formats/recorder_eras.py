"""Entries of a flight recorder of any format, put into the shape of the newest one.

Fields came and went: ``seq_id`` became ``collective_seq_id`` and ``p2p_seq_id``, ``pg_name`` became ``process_group``,
microseconds became nanoseconds (torch/csrc/distributed/c10d/FlightRecorder, formats 1 to 2.10).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..model.evidence.recorder import label_parts
from ..model.ring import STATES


def normal(e: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of any format, with every field of the newest one and of its type."""
    group = e.get("process_group")
    if isinstance(group, (list, tuple)) and group:
        group, desc = text(group[0]), text(group[1] if len(group) > 1 else "")
    else:
        group, desc = text(e.get("pg_name", e.get("pg_id", ""))), text(e.get("pg_desc", ""))
    label = text(e.get("profiling_name", e.get("name", "")))
    seq = number(e.get("collective_seq_id", e.get("seq_id", 0)))
    state = e.get("state") if e.get("state") in STATES else "scheduled"
    frames = e.get("frames")
    return {
        "record_id": number(e.get("record_id", e.get("id", 0))),
        "process_group": (group, desc),
        "pg_id": number(e.get("pg_id", -1)),
        "collective_seq_id": seq,
        "p2p_seq_id": number(e.get("p2p_seq_id", 0)),
        "op_id": number(e.get("op_id", seq)),
        "profiling_name": label,
        "time_created_ns": number(e.get("time_created_ns", 0)) or 1000 * number(e.get("time_created_us", 0)),
        "time_discovered_started_ns": number(e.get("time_discovered_started_ns", 0)),
        "time_discovered_completed_ns": number(e.get("time_discovered_completed_ns", 0)),
        "input_sizes": _dims(e.get("input_sizes", e.get("sizes"))),
        "output_sizes": _dims(e.get("output_sizes")),
        "input_dtypes": _texts(e.get("input_dtypes")),
        "output_dtypes": _texts(e.get("output_dtypes")),
        "state": state,
        "retired": e.get("retired") is True or e.get("retired") == "true",
        "timeout_ms": number(e.get("timeout_ms", 0)),
        "is_p2p": e.get("is_p2p") is True or label_parts(label)[2] is not None,
        "thread_name": text(e.get("thread_name", "")),
        "frames": [_frame(raw) for raw in frames if isinstance(raw, Mapping)] if isinstance(frames, list) else None,
    }


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
    return tuple(text(item) for item in value[:4096]) if isinstance(value, (list, tuple)) else ()


def _dims(value: Any) -> tuple[tuple[int, ...], ...]:
    if not isinstance(value, (list, tuple)):
        return ()
    if value and all(isinstance(item, int) for item in value[:64]):  # one flat shape
        value = [value]
    return tuple(
        tuple(number(size) for size in dims[:64]) for dims in value[: 1 << 18] if isinstance(dims, (list, tuple))
    )
