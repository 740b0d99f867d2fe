"""Dumps of torch's flight recorder, format 2.0 to 2.10, as pickle or JSON (torch/csrc/distributed/c10d/FlightRecorder).

Fields came and went: ``seq_id`` became ``collective_seq_id`` and ``p2p_seq_id``, ``pg_name`` became ``process_group``,
``nccl_version`` became ``comm_lib_version``. JSON writes group status as text, unknown times as 0, and has no ``entries``
when the ring is empty. The fast path takes a dump as current torch writes it; whatever differs is put in order first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..model.evidence.recorder import GroupConfig, GroupStatus, Recorder
from ..model.evidence.stacks import Frame
from ..model.gap import Gap, Why
from ..model.ring import Call, Ring, ints
from . import names, plain

MOST_ENTRIES = 200_000
_MARKS = (b"pg_config", b"pg_status", b"entries", b"profiling_name")
_PEERS = re.compile(r"^(.*?)\s+(\d+)\s*(->|<-)\s*(\d+)$")
_STATE = {"scheduled": 0, "started": 1, "completed": 2}


def recognises(head: bytes) -> bool:
    """Does a file begin like a dump: a pickled or JSON dictionary with the recorder's keys?"""
    pickled = head[:1] == b"\x80" and head[2:3] in (b"}", b"(", b"\x95", b"]")
    if not pickled and head.lstrip()[:1] not in (b"{", b"["):
        return False
    return any(mark in head[:8192] for mark in _MARKS)


class Pool:
    """Calls and frames that many entries share; give one pool to all files of a job."""

    def __init__(self) -> None:
        self.calls: dict[Any, Call] = {}
        self.frames: dict[Any, Any] = {}
        self.members: dict[str, tuple[int, ...]] = {}


def read(data: bytes, name: str = "", pool: Pool | None = None) -> Recorder | Gap:
    """One dump as a Recorder. Its rank is what the content says, None where it does not."""
    if not data:
        return _gap(name, "the file is empty")
    try:
        with plain.no_collection():
            raw = plain.unpickle(data) if data[:1] == b"\x80" else plain.parse_json(data)
            return _recorder(raw, name, pool or Pool())
    except plain.Refused as refusal:
        return _gap(name, str(refusal))
    except (TypeError, ValueError, KeyError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        return _gap(name, f"its fields are not those of a flight recorder: {error}"[:200])


def _gap(name: str, detail: str) -> Gap:
    return Gap("recorder", Why.DAMAGED, f"{name or 'dump'}: {detail}")


def _recorder(raw: Any, name: str, pool: Pool) -> Recorder:
    if isinstance(raw, list) and raw and isinstance(raw[0], dict):  # before 2.0 a dump was the bare list of entries
        raw = {"entries": raw, "version": "1"}
    if not isinstance(raw, dict) or not any(mark.decode() in raw for mark in _MARKS):
        raise plain.Refused("it holds no flight recorder")
    entries = raw.get("entries") or []
    if not isinstance(entries, (list, tuple)):
        raise plain.Refused("its entries are not a list")
    ring = ring_of(entries[-MOST_ENTRIES:], pool)
    status = dict(_status(raw.get("pg_status")))
    groups = tuple(_groups(raw.get("pg_config"), pool))
    return Recorder(
        entries=ring,  # type: ignore[arg-type]  # a sequence of entries like any other
        status=status,
        groups=groups,
        version=_text(raw.get("version"))[:32],
        library=_text(raw.get("comm_lib_version") or raw.get("nccl_version") or "")[:64],
        source="dump",
        rank=_rank(raw, ring, groups, name),
        only_active=_only_active(ring, status),
    )


def ring_of(entries: Sequence[Any], pool: Pool) -> Ring:
    """Entries in columns."""
    try:
        ring = _columns(entries, pool)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
        ring = _columns([normal(entry) for entry in entries if isinstance(entry, Mapping)], pool)
    return _with_batches(ring)


def _columns(entries: Sequence[Mapping[str, Any]], pool: Pool) -> Ring:
    state = _STATE
    return Ring(
        calls=_calls(entries, pool),
        ids=ints([e["record_id"] for e in entries]),
        seqs=ints([e["collective_seq_id"] for e in entries]),
        p2p_seqs=ints([e["p2p_seq_id"] for e in entries]),
        op_ids=ints([e["op_id"] for e in entries]),
        created=ints([e["time_created_ns"] for e in entries]),
        started=ints([e["time_discovered_started_ns"] or 0 for e in entries]),
        completed=ints([e["time_discovered_completed_ns"] or 0 for e in entries]),
        states=bytes([state[e["state"]] for e in entries]),
        done=bytes([e["retired"] or e["state"] == "completed" for e in entries]),
    )


def _calls(entries: Sequence[Mapping[str, Any]], pool: Pool) -> list[Call]:
    """One shared Call per entry."""
    out, known, sites = [], pool.calls, _Sites(pool)
    for e in entries:
        group, desc = e["process_group"]
        frames = e.get("frames")
        key = (
            e["profiling_name"],
            group,
            desc,
            e["pg_id"],
            _sizes(e["input_sizes"]),
            _sizes(e["output_sizes"]),
            _names(e["input_dtypes"]),
            _names(e["output_dtypes"]),
            e["timeout_ms"],
            e["is_p2p"],
            e.get("thread_name"),
            sites.of(frames) if frames else (),
        )
        call = known.get(key)
        if call is None:
            call = known[key] = _call(key)
        out.append(call)
    return out


def _call(key: tuple[Any, ...]) -> Call:
    label, group, desc, pg_id, inputs, outputs, input_dtypes, output_dtypes, timeout, is_p2p, thread, frames = key
    if not (isinstance(label, str) and isinstance(group, str) and isinstance(desc, str)):
        raise TypeError("names are not text")
    if not all(type(number) is int for sizes in (*inputs, *outputs) for number in sizes):
        raise TypeError("sizes are not numbers")
    if not all(type(name) is str for name in (*input_dtypes, *output_dtypes)):
        raise TypeError("types are not text")
    backend, op, peer = label_parts(label[:512])
    return Call(
        group=group[:512],
        desc=desc[:512],
        op=op,
        pg_id=int(pg_id),
        backend=backend,
        peer=peer,
        is_p2p=bool(is_p2p) or peer is not None,
        input_sizes=inputs,
        output_sizes=outputs,
        input_dtypes=input_dtypes,
        output_dtypes=output_dtypes,
        timeout_ms=int(timeout or 0),
        thread=_text(thread or "")[:64],
        frames=frames,
    )


def label_parts(label: str) -> tuple[str, str, tuple[int, int] | None]:
    """``nccl:recv 3<-0`` as backend, operation and (source, destination) in ranks of the group."""
    backend, colon, op = label.partition(":")
    if not colon:
        backend, op = "", label
    match = _PEERS.match(op)
    if not match:
        return backend, op, None
    op, left, arrow, right = match.groups()
    return backend, op, (int(left), int(right)) if arrow == "->" else (int(right), int(left))


def _sizes(value: Any) -> tuple[tuple[int, ...], ...]:
    if len(value) == 1 and len(value[0]) <= 16:
        return (tuple(value[0]),)
    # A pickle can refer to one long list a million times; no tensor has that many dimensions.
    if len(value) > 1 << 18 or any(len(dims) > 64 for dims in value):
        raise plain.Refused("it has tensors of more than 64 dimensions")
    return tuple(map(tuple, value))


def _names(value: Any) -> tuple[str, ...]:
    return (value,) if type(value) is str else tuple(value)


class _Sites:
    """Call sites of one file: torch writes a frame once and refers to it afterwards."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool.frames
        self._lists: dict[int, tuple[Frame, ...]] = {}
        self._sites: dict[tuple[int, ...], tuple[Frame, ...]] = {}
        self._frames: dict[int, Frame] = {}

    def of(self, frames: Sequence[Any]) -> tuple[Frame, ...]:
        known = self._lists.get(id(frames))
        if known is None:
            key = tuple(map(id, frames))
            known = self._sites.get(key)
            if known is None:
                made = tuple([self._frame(frame) for frame in frames])
                known = self._sites[key] = self._pool.setdefault(made, made)
            self._lists[id(frames)] = known
        return known

    def _frame(self, raw: Any) -> Frame:
        known = self._frames.get(id(raw))
        if known is None:
            key = (raw["name"], raw["filename"], raw["line"])
            known = self._pool.get(key)
            if known is None:
                known = Frame(_text(key[0])[:1024], _text(key[1])[:4096], int(key[2] or 0))
                self._pool[key] = known
            self._frames[id(raw)] = known
        return known


def normal(e: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of any format, with every field of the newest one and of its type."""
    group = e.get("process_group")
    if isinstance(group, (list, tuple)) and group:
        group, desc = _text(group[0]), _text(group[1] if len(group) > 1 else "")
    else:
        group, desc = _text(e.get("pg_name", e.get("pg_id", ""))), _text(e.get("pg_desc", ""))
    label = _text(e.get("profiling_name", e.get("name", "")))
    seq = _int(e.get("collective_seq_id", e.get("seq_id", 0)))
    state = e.get("state") if e.get("state") in _STATE else "scheduled"
    frames = e.get("frames")
    return {
        "record_id": _int(e.get("record_id", e.get("id", 0))),
        "process_group": (group, desc),
        "pg_id": _int(e.get("pg_id", -1)),
        "collective_seq_id": seq,
        "p2p_seq_id": _int(e.get("p2p_seq_id", 0)),
        "op_id": _int(e.get("op_id", seq)),
        "profiling_name": label,
        "time_created_ns": _int(e.get("time_created_ns", 0)) or 1000 * _int(e.get("time_created_us", 0)),
        "time_discovered_started_ns": _int(e.get("time_discovered_started_ns", 0)),
        "time_discovered_completed_ns": _int(e.get("time_discovered_completed_ns", 0)),
        "input_sizes": _dims(e.get("input_sizes", e.get("sizes"))),
        "output_sizes": _dims(e.get("output_sizes")),
        "input_dtypes": _texts(e.get("input_dtypes")),
        "output_dtypes": _texts(e.get("output_dtypes")),
        "state": state,
        "retired": e.get("retired") is True or e.get("retired") == "true",
        "timeout_ms": _int(e.get("timeout_ms", 0)),
        "is_p2p": e.get("is_p2p") is True or _PEERS.match(label) is not None,
        "thread_name": _text(e.get("thread_name", "")),
        "frames": [_frame(raw) for raw in frames if isinstance(raw, Mapping)] if isinstance(frames, list) else None,
    }


def _frame(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": _text(raw.get("name", "")),
        "filename": _text(raw.get("filename", raw.get("file", ""))),
        "line": _int(raw.get("line", 0)),
    }


def _int(value: Any) -> int:
    """A number that fits a column; 0 for whatever is none."""
    if isinstance(value, str) and len(value) > 20:
        return 0
    try:
        number = int(value or 0)
    except (TypeError, ValueError, OverflowError):
        return 0
    return number if -(1 << 63) <= number < 1 << 63 else 0


def _text(value: Any) -> str:
    """Text as it is, numbers as text; containers are not stringified, they may be endless."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, (int, float)) and not _huge(value) else ""


def _huge(value: Any) -> bool:
    return isinstance(value, int) and value.bit_length() > 128


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(_text(item) for item in value[:4096]) if isinstance(value, (list, tuple)) else ()


def _dims(value: Any) -> tuple[tuple[int, ...], ...]:
    if not isinstance(value, (list, tuple)):
        return ()
    if value and all(isinstance(item, int) for item in value[:64]):  # one flat shape
        value = [value]
    return tuple(
        tuple(_int(number) for number in dims[:64]) for dims in value[: 1 << 18] if isinstance(dims, (list, tuple))
    )


def _with_batches(ring: Ring) -> Ring:
    """Operations inside a coalesced group never get a state of their own: they are over when the group's entry is.

    Torch records the members of a batch first and then one entry named ``coalesced`` with the same numbers, which
    alone carries the events (ProcessGroupNCCL::endCoalescing).
    """
    if not any(call.closes_batch for call in set(ring.calls)):
        return ring
    done = bytearray(ring.done)
    over: set[tuple[str, int, int]] = set()
    for at in range(len(ring) - 1, -1, -1):
        key = (ring.calls[at].group, ring.seqs[at], ring.p2p_seqs[at])
        if ring.calls[at].closes_batch:
            if done[at]:
                over.add(key)
        elif key in over:
            done[at] = 1
    return Ring(
        ring.calls,
        ring.ids,
        ring.seqs,
        ring.p2p_seqs,
        ring.op_ids,
        ring.created,
        ring.started,
        ring.completed,
        ring.states,
        bytes(done),
    )


def _status(raw: Any) -> list[tuple[str, GroupStatus]]:
    if not isinstance(raw, Mapping):
        return []
    out = []
    for pg_id, values in list(raw.items())[:65536]:
        if isinstance(values, Mapping):
            numbers = [
                _int(values.get(f"last_{what}_collective", -1)) if f"last_{what}_collective" in values else -1
                for what in ("enqueued", "started", "completed")
            ]
            out.append((_text(pg_id), GroupStatus(*numbers)))
    return out


def _groups(raw: Any, pool: Pool) -> list[GroupConfig]:
    if not isinstance(raw, Mapping):
        return []
    out = []
    for key, values in list(raw.items())[:65536]:
        if isinstance(values, Mapping):
            out.append(
                GroupConfig(
                    name=_text(values.get("name", key))[:512],
                    desc=_text(values.get("desc", ""))[:512],
                    ranks=_ranks(values.get("ranks"), pool),
                )
            )
    return out


def _ranks(raw: Any, pool: Pool) -> tuple[int, ...]:
    """``"[0, 1, 2]"`` or a list of numbers; equal lists become one object."""
    if isinstance(raw, str):
        known = pool.members.get(raw)
        if known is None:
            known = pool.members[raw] = tuple(map(int, re.findall(r"\d{1,9}", raw)))
        return known
    return tuple(_int(rank) for rank in raw) if isinstance(raw, (list, tuple)) else ()


def _only_active(ring: Ring, status: Mapping[str, GroupStatus]) -> bool:
    """Were finished operations left out (``onlyActive``)? The dump itself does not say."""
    if not len(ring):
        return any(counters.last_completed > 0 for counters in status.values())
    if any(ring.done):
        return False
    # Nothing finished although the first entry is not the process's first, and the ring is not simply full.
    gaps = ring.ids[-1] - ring.ids[0] + 1 != len(ring)
    return gaps or (ring.ids[0] > 0 and len(ring) < 1000)


def _rank(raw: Mapping[Any, Any], ring: Ring, groups: Sequence[GroupConfig], name: str) -> int | None:
    """The rank that the content says: a key of its own, the near end of its sends and receives, else its groups."""
    for key in ("rank", "global_rank"):
        if isinstance(raw.get(key), int) and not isinstance(raw[key], bool) and 0 <= raw[key] < 1 << 24:
            return int(raw[key])
    members = {config.name: config.ranks for config in groups}
    near = set()
    for call in set(ring.calls):
        ranks = members.get(call.group, ())
        if call.peer is not None and ranks and call.op in ("send", "recv"):
            own = call.peer[0] if call.op == "send" else call.peer[1]
            near.add(ranks[own] if own < len(ranks) else -1)
    if len(near) == 1 and -1 not in near:
        return near.pop()
    if names.rank_in(name) is not None or re.search(r"\d", name):
        return None  # the name will say, and lists of members are less to be trusted than a name
    shared = set.intersection(*(set(ranks) for ranks in members.values() if ranks)) if any(members.values()) else set()
    return shared.pop() if len(shared) == 1 else None
