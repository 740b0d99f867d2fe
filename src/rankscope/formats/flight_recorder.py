"""Dumps of torch's flight recorder, format 2.0 to 2.10, as pickle or JSON (torch/csrc/distributed/c10d/FlightRecorder).

``nccl_version`` became ``comm_lib_version``; JSON writes group status as text, and has no ``entries`` when the ring is
empty. The entries themselves are read by ``recorder_entries``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..model.evidence.recorder import GroupConfig, GroupStatus, Recorder
from ..model.gap import Gap, Why
from ..model.patterns import regex
from ..model.ranks import MOST_IN_A_JOB, MOST_RANKS
from ..model.ring import Ring
from . import names, plain
from .recorder_entries import Pool, ring_of
from .recorder_eras import counted, number, text

__all__ = ["MOST_BYTES", "MOST_ENTRIES", "Pool", "read", "read_all", "recognises"]

MOST_BYTES = plain.MOST_BYTES
MOST_ENTRIES = 200_000
_BOM = b"\xef\xbb\xbf"
_RANK_KEY = regex(r"(?:rank|Rank)?[ _-]?\d{1,7}")
_MARKS = (b"pg_config", b"pg_status", b"entries", b"profiling_name")
_JSON = regex(rb"\s*\[?\s*\{\s*\"")  # a kernel's log begins with a bracket too


def recognises(head: bytes) -> bool:
    """Does a file begin like a dump: a pickled or JSON dictionary with the recorder's keys?"""
    pickled = head[:1] == b"\x80" and head[2:3] in (b"}", b"(", b"\x95", b"]")
    if pickled:
        return any(mark in head[:8192] for mark in _MARKS)
    return bool(_JSON.match(head.removeprefix(_BOM))) and any(b'"%b"' % mark in head[:8192] for mark in _MARKS)


def read(data: bytes, name: str = "", pool: Pool | None = None) -> Recorder | Gap:
    """One dump as a Recorder. Its rank is what the content says, None where it does not."""
    if not data:
        return _gap(name, "the file is empty")
    try:
        with plain.no_collection():
            return _understood(_plain(data), name, pool or Pool())
    except plain.Refused as refusal:
        return _gap(name, str(refusal))


def read_all(data: bytes, name: str = "", pool: Pool | None = None) -> Iterator[Recorder | Gap]:
    """All dumps of a file: one, or those of a job by rank, as some who gather them write it."""
    if data[:1] == b"\x80" or not data:
        yield read(data, name, pool)
        return
    pool = pool or Pool()
    try:
        with plain.no_collection():
            raw = _plain(data)
    except plain.Refused as refusal:
        yield _gap(name, str(refusal))
        return
    if not _by_rank(raw):
        yield _understood(raw, name, pool)
        return
    for key, one in list(raw.items())[:MOST_IN_A_JOB]:
        found = _understood(one, f"{name} of rank {key}", pool)
        yield replace(found, rank=int(re.findall(r"\d+", key)[-1])) if isinstance(found, Recorder) else found


def _by_rank(raw: Any) -> bool:
    """Is it a dictionary of dumps, each called after its rank?"""
    return isinstance(raw, dict) and len(raw) > 0 and all(
        isinstance(key, str) and _RANK_KEY.fullmatch(key) and isinstance(one, dict) and "pg_config" in one
        for key, one in raw.items()
    )  # fmt: skip


def _plain(data: bytes) -> Any:
    return plain.unpickle(data) if data[:1] == b"\x80" else plain.parse_json(data.removeprefix(_BOM))


def _understood(raw: Any, name: str, pool: Pool) -> Recorder | Gap:
    try:
        return _recorder(raw, name, pool)
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
        version=text(raw.get("version"))[:32],
        library=text(raw.get("comm_lib_version") or raw.get("nccl_version") or "")[:64],
        source="dump",
        rank=_rank(raw, ring, groups, name),
        only_active=_only_active(ring, status),
    )


def _status(raw: Any) -> list[tuple[str, GroupStatus]]:
    if not isinstance(raw, Mapping):
        return []
    out = []
    for pg_id, values in list(raw.items())[:65536]:
        if isinstance(values, Mapping):
            numbers = [values.get(f"last_{what}_collective") for what in ("enqueued", "started", "completed")]
            out.append((text(pg_id), GroupStatus(*map(_counter, numbers))))
    return out


def _counter(value: Any) -> int:
    """A counter, which JSON has as text; -1 where it counts nothing."""
    found = number(value) if isinstance(value, (int, str)) and str(value)[:20].isdecimal() else -1
    return found if counted(found) else -1


def _groups(raw: Any, pool: Pool) -> list[GroupConfig]:
    if not isinstance(raw, Mapping):
        return []
    out = []
    for key, values in list(raw.items())[:65536]:
        if isinstance(values, Mapping):
            out.append(
                GroupConfig(
                    name=text(values.get("name", key))[:512],
                    desc=text(values.get("desc", ""))[:512],
                    ranks=_ranks(values.get("ranks"), pool),
                )
            )
    return out


def _ranks(raw: Any, pool: Pool) -> tuple[int, ...]:
    """``"[0, 1, 2]"`` or a list of numbers; equal lists become one object, and of what is no list of ranks nothing is known."""
    if isinstance(raw, str):
        known = pool.members.get(raw)
        if known is None:
            known = pool.members[raw] = tuple(map(int, re.findall(r"\d{1,9}", raw)))
        return known
    return tuple(raw) if isinstance(raw, (list, tuple)) and all(map(counted, raw)) else ()


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
    members = {config.name: config.ranks for config in groups}
    listed = set().union(*members.values())
    for key in ("rank", "global_rank"):
        rank = raw.get(key)
        if (
            isinstance(rank, int) and counted(rank) and rank < MOST_RANKS and (rank in listed or not listed)
        ):  # it is in its own groups
            return rank
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
