"""The calls that a prepared process notes of itself (``rankscope.prepare``): sends, receives, roots and reductions.

Looks only: the file is read through the descriptor that the process keeps open, so neither its path nor its mount matters; the
process need not answer. A process that nobody prepared has no such file, and nothing is missing then.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator
from typing import Any

from ...model import calls_file as layout
from ...model.evidence.calls import Calls, NotedCall, NotedGroup
from ...model.evidence.stacks import Frame
from ...model.gap import Gap, Why
from ...model.process import Role
from ..collector import Collector, Target, Touch

NEWEST = 192  # finished calls that are kept besides the unfinished ones
SITED = 24  # the newest calls that are given with their lines
_MOST_DESCRIPTORS = 4096
_REDUCTIONS = dict(enumerate(layout.REDUCTIONS))
_TYPES = dict(enumerate(layout.TYPES.values()))


def collect(target: Target) -> Calls | Gap | None:
    for link in _links(target):
        raw, again = _bytes(link)
        if raw is None:
            continue
        if _header(raw)[6] == target.process.ref.started:  # else it was inherited at fork
            return parse(raw, _header(again)[7], time.time_ns())
    return None


def _links(target: Target) -> Iterator[str]:
    """Descriptors of files that are called as ours are."""
    folder = f"{target.path}/fd"
    for name in os.listdir(folder)[:_MOST_DESCRIPTORS]:
        try:
            if os.readlink(f"{folder}/{name}").partition(" (deleted)")[0].endswith(layout.SUFFIX):
                yield f"{folder}/{name}"
        except FileNotFoundError:
            continue  # closed while we looked


def _bytes(link: str) -> tuple[bytes | None, bytes]:
    """The file, and its header once more after it was read; None when it is not one of ours."""
    handle = os.open(link, os.O_PATH | os.O_CLOEXEC)
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode) or about.st_size != layout.FILE_SIZE:
            return None, b""
        file = os.open(f"/proc/self/fd/{handle}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    finally:
        os.close(handle)
    try:
        raw = os.pread(file, layout.FILE_SIZE, 0)
        again = os.pread(file, layout.HEADER_SIZE, 0)
    finally:
        os.close(file)
    ours = len(raw) == layout.FILE_SIZE and raw.startswith(layout.MAGIC) and len(again) == layout.HEADER_SIZE
    return (raw, again) if ours else (None, b"")


def _header(raw: bytes) -> tuple[Any, ...]:
    return layout.HEADER.unpack_from(raw)


def parse(raw: bytes, begun: int, read_at_ns: int) -> Calls | Gap:
    """The calls in a file of which ``begun`` records were begun by the time it had been read."""
    _, version, size, capacity, room, *_, used = _header(raw)
    if (version, size, capacity, room) != (layout.VERSION, layout.RECORD.size, layout.CAPACITY, layout.TEXT_SIZE):
        return Gap("calls", Why.UNSUPPORTED, "written by another rankscope", "use one version of rankscope for both")
    texts = _texts(raw[layout.HEADER_SIZE : layout.HEADER_SIZE + max(0, min(used, room))])
    records = [record for record in _records(raw) if begun - capacity < record[-1] <= begun]
    records.sort(key=lambda record: record[-1])
    newest = {record[-1] for record in records[-NEWEST:]}
    kept = [record for record in records if record[-1] in newest or not record[2]]
    sited = {record[-1] for record in (*kept[-SITED:], *(record for record in kept if not record[2]))}
    groups = {number: _group(what) for (kind, number), what in texts.items() if kind == "group"}
    sites = {number: _frames(what) for (kind, number), what in texts.items() if kind == "site"}
    server = next((str(what)[:200] for (kind, _), what in texts.items() if kind == "server"), "")
    calls = tuple(_call(record, groups, sites if record[-1] in sited else {}) for record in kept if record[6] in groups)
    return Calls(calls, tuple(dict.fromkeys(groups.values())), begun, read_at_ns, server)


def _texts(raw: bytes) -> dict[tuple[str, int], Any]:
    out = {}
    for line in raw.split(b"\n"):
        try:
            kind, number, what = json.loads(line)
            out[str(kind), int(number)] = what
        except (ValueError, TypeError, RecursionError):
            continue  # the last line may be half-written
    return out


def _records(raw: bytes) -> Iterator[tuple[int, ...]]:
    """All records that stand where their number belongs."""
    start = layout.HEADER_SIZE + layout.TEXT_SIZE
    for at, record in enumerate(layout.RECORD.iter_unpack(raw[start:])):
        if record[-1] and (record[-1] - 1) % layout.CAPACITY == at and 0 < record[12] < len(layout.OPS):
            yield record


def _group(what: Any) -> NotedGroup:
    body = what if isinstance(what, dict) else {}
    ranks = body.get("ranks")
    members = tuple(rank for rank in ranks if isinstance(rank, int)) if isinstance(ranks, list) else ()
    name, desc, backend = (str(body.get(name, ""))[:200] for name in ("name", "desc", "backend"))
    return NotedGroup(name, desc, backend, members)


def _frames(what: Any) -> tuple[Frame, ...]:
    listed = what[:8] if isinstance(what, list) else ()
    return tuple(
        Frame(str(one[0])[:200], str(one[1])[:1000], one[2]) for one in listed
        if isinstance(one, list) and len(one) == 3 and isinstance(one[2], int)
    )  # fmt: skip


def _call(record: tuple[int, ...], groups: dict[int, NotedGroup], sites: dict[int, tuple[Frame, ...]]) -> NotedCall:
    entered, waited, left, numel, n, tag, group, site, peer, root, reduction, dtype, op, flags = record[:14]
    state = "done" if left else "waiting" if waited else "posted" if flags & layout.POSTED else "inside"
    return NotedCall(
        record[-1], layout.OPS[op], groups[group].name, state, peer if peer >= 0 else None, root if root >= 0 else None,
        _REDUCTIONS.get(reduction, ""), _TYPES.get(dtype, ""), numel, n, tag, entered, waited, sites.get(site, ()),
    )  # fmt: skip


COLLECTOR = Collector("calls", Touch.PASSIVE, 2.0, collect, roles=frozenset({Role.RANK, Role.OTHER}), order=31)
