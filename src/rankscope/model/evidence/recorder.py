"""Torch's flight recorder: which collectives a rank issued, and which of them finished."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from . import evidence
from .stacks import Frame


@dataclass(frozen=True)
class RecorderEntry:
    """One operation of the ring. Times are nanoseconds since the epoch, 0 where unknown.

    ``op`` is the profiling name without the backend prefix and peers (``all_reduce``, ``_all_gather_base``, ``send``);
    ``peer`` holds (src, dst) in ranks of the group for P2P. ``seq`` is collective_seq_id; ``done`` is torch's
    ``retired`` or state completed (gloo never leaves state ``scheduled``).
    """

    id: int
    group: str  # process group name
    desc: str
    seq: int
    op: str
    p2p_seq: int = 0
    op_id: int = 0
    pg_id: int = -1
    backend: str = ""
    peer: tuple[int, int] | None = None
    state: str = "scheduled"
    done: bool = False
    is_p2p: bool = False
    input_sizes: tuple[tuple[int, ...], ...] = ()
    output_sizes: tuple[tuple[int, ...], ...] = ()
    input_dtypes: tuple[str, ...] = ()
    output_dtypes: tuple[str, ...] = ()
    created_ns: int = 0
    started_ns: int = 0
    completed_ns: int = 0
    timeout_ms: int = 0
    thread: str = ""
    frames: tuple[Frame, ...] = ()  # innermost first, as torch records them


@dataclass(frozen=True)
class GroupStatus:
    """Counters of one process group on one rank (-1 where unknown)."""

    last_enqueued: int = -1
    last_started: int = -1
    last_completed: int = -1


@dataclass(frozen=True)
class GroupConfig:
    """Name, description and members (world ranks, in group order; empty where unknown)."""

    name: str
    desc: str = ""
    ranks: tuple[int, ...] = ()


@evidence("recorder")
@dataclass(frozen=True)
class Recorder:
    """One rank's recorder. ``status`` is keyed by pg_id, which numbers groups per process, not per job."""

    entries: tuple[RecorderEntry, ...]
    status: Mapping[str, GroupStatus] = field(default_factory=dict)
    groups: tuple[GroupConfig, ...] = ()
    version: str = ""
    library: str = ""
    source: str = "dump"  # memory, dump, socket
    rank: int | None = None  # as the dump or its file name says
    capacity: int = 0
    read_at_ns: int = 0
    only_active: bool = False
    enabled: bool = True


def label_parts(label: str) -> tuple[str, str, tuple[int, int] | None]:
    """``nccl:recv 3<-0`` as backend, operation and (source, destination) in ranks of the group."""
    backend, colon, op = label.partition(":")
    if not colon:
        backend, op = "", label
    for arrow in ("->", "<-"):
        before, found, right = op.partition(arrow)
        name, space, left = before.rstrip().rpartition(" ")
        left, right = left.strip(), right.strip()
        if found and space and left.isdecimal() and right.isdecimal():
            ends = (int(left), int(right))
            return backend, name.rstrip(), ends if arrow == "->" else ends[::-1]
    return backend, op, None
