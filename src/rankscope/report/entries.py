"""The raw timeline of recorders: one line an operation, oldest first, rank by rank."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from ..analysis.origin import is_user
from ..model.evidence.recorder import Recorder, RecorderEntry
from ..model.ranks import RankSet
from ..model.snapshot import Snapshot
from .plain import clean


def lines(snapshot: Snapshot, ranks: RankSet) -> Iterator[str]:
    """The entries of these ranks at every moment that the snapshot has."""
    rank_of = {process.ref: process.rank for process in snapshot.processes}
    for sweep in snapshot.sweeps:
        for item in sweep.items:
            rank = rank_of.get(item.process) if item.process is not None else None
            if isinstance(item.record, Recorder) and rank is not None and rank in ranks:
                moment = f", look {sweep.index + 1}" if len(snapshot.sweeps) > 1 else ""
                yield clean(f"rank {rank}{moment}: {len(item.record.entries)} entries from {item.record.source}")
                yield from (f"  {clean(line(entry))}" for entry in item.record.entries)


def line(entry: RecorderEntry) -> str:
    """One operation: when, which number of which group, what, on how much, how far, and from where."""
    number = f"#{entry.seq}" if not entry.is_p2p else f"p2p {entry.p2p_seq}"
    peer = f" {entry.peer[0]}->{entry.peer[1]}" if entry.peer else ""
    sizes = " ".join(str(list(dims)) for dims in (entry.input_sizes or entry.output_sizes)[:3])
    dtype = (entry.input_dtypes or entry.output_dtypes or ("",))[0]
    state = "done" if entry.done else entry.state
    frame = next((frame for frame in entry.frames if is_user(frame)), None)
    site = f"  {frame.function} ({frame.file.rsplit('/', 1)[-1]}:{frame.line})" if frame else ""
    parts = (
        _clock(entry.created_ns),
        f"{entry.desc or entry.group} {number}",
        f"{entry.op}{peer}",
        sizes,
        dtype,
        state,
    )
    return "  ".join(part for part in parts if part) + site


def _clock(created_ns: int) -> str:
    if not created_ns:
        return "--:--:--"
    at = datetime.datetime.fromtimestamp(created_ns / 1e9, datetime.timezone.utc)
    return at.strftime("%H:%M:%S.%f")
