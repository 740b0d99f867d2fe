"""The dumps that the ranks of a job on paper leave, as torch's releases and backends write them."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from .machine import Issued, Job

Dump = dict[str, Any]


@dataclass(frozen=True)
class Style:
    """How dumps are written. ``capacity`` is the ring; a rank's ring may be shorter by up to ``skew``."""

    backend: str = "nccl"
    version: str = "2.10"
    capacity: int = 2000
    skew: int = 0
    only_active: bool = False
    status: bool = True
    config: str = "own"  # own, all, none, nameless
    names: str = "number"  # number, hash, desc
    described: bool = True
    frames: bool = True
    timing: bool = False  # start events: state "started"
    text_numbers: bool = False  # numbers and types as plain text
    json: bool = False
    prefix: str = "rank_"

    @property
    def release(self) -> int:
        """The second number of the format's version."""
        return int(self.version.split(".")[1])


def dump(job: Job, rank: int, style: Style, seed: int = 0) -> Dump:
    """One rank's dump."""
    rnd = random.Random(f"{seed}-{rank}")
    own = [name for name, (_, ranks) in job.groups.items() if rank in ranks]
    numbers = {name: at for at, name in enumerate(own)}
    entries = [entry for one in _with_batches(job, rank) for entry in [_entry(job, one, numbers, style)]]
    for number, entry in enumerate(entries):
        entry["record_id"] = number
    entries = entries[-max(4, style.capacity - rnd.randrange(style.skew + 1)) :]
    if style.only_active:
        entries = [entry for entry in entries if entry["state"] != "completed"]
    made: Dump = {"version": style.version}
    made["pg_config"] = _config(job, own, style)
    made["nccl_version" if style.release < 10 else "comm_lib_version"] = "2.27.3"
    if style.status and style.release >= 2:
        made["pg_status"] = {str(numbers[name]): _counters(job, rank, name) for name in own}
    made["entries"] = [_aged(entry, style) for entry in entries]
    return made


def _with_batches(job: Job, rank: int) -> list[tuple[Issued, bool]]:
    """Entries of one rank: after the members of a batch comes the entry of the batch itself."""
    out: list[tuple[Issued, bool]] = []
    mine = job.issued[rank]
    for at, one in enumerate(mine):
        out.append((one, False))
        following = mine[at + 1].call.batch if at + 1 < len(mine) else 0
        if one.call.batch and following != one.call.batch:
            out.append((one, True))
    return out


def group_name(job: Job, group: str, style: Style) -> str:
    """What a group is called in the dumps."""
    desc = job.groups[group][0]
    if style.names == "hash":
        return f"{crc32(group.encode()):08x}" if group != "0" else "0"
    if style.names == "desc":  # split groups of one kind share a name
        return "0" if group == "0" else desc
    return group


def _desc(job: Job, group: str, style: Style) -> str:
    if group == "0":
        return "default_pg"
    return job.groups[group][0] if style.described else "undefined"


def _config(job: Job, own: list[str], style: Style) -> Mapping[str, Any]:
    if style.config == "none":
        return {}
    if style.config == "nameless" or style.backend == "gloo":
        return {"": {"name": "", "desc": "", "ranks": "[]"}}
    listed = job.groups if style.config == "all" and style.names != "desc" else own
    return {
        group_name(job, name, style): {"name": group_name(job, name, style), "desc": _desc(job, name, style),
                                  "ranks": str(list(job.groups[name][1]))} for name in listed
    }  # fmt: skip


def _counters(job: Job, rank: int, group: str) -> dict[str, int]:
    mine = [one for one in job.issued[rank] if one.call.group == group]
    number = lambda one: one.p2p_seq if one.call.peer is not None else one.seq  # noqa: E731
    return {
        "last_enqueued_collective": number(mine[-1]) if mine else -1,
        "last_started_collective": -1,
        "last_completed_collective": max((number(one) for one in mine if one.over), default=-1),
    }


def _entry(job: Job, what: tuple[Issued, bool], numbers: Mapping[str, int], style: Style) -> Dump:
    one, closes = what
    call, batch = one.call, one.call.batch
    label = f"{style.backend}:{'coalesced' if closes else call.op}"
    if call.peer is not None and not closes:
        me = job.groups[call.group][1].index(one.rank)
        label += f" {me}->{call.peer}" if call.op == "send" else f" {me}<-{call.peer}"
    gloo, inside = style.backend == "gloo", bool(batch) and not closes
    whole = all(other.over for other in job.issued[one.rank] if other.call.batch == batch) if batch else one.over
    over = whole and not inside
    started = style.timing and one.begun and not inside
    sizes = [] if closes else [list(call.sizes)]
    out = [] if closes else [list(call.out or call.sizes)]
    if call.op == "barrier":
        sizes, out = ([], []) if gloo else ([[1]], [[1]])
    return {
        "record_id": 0,
        "pg_id": numbers[call.group],
        "process_group": (group_name(job, call.group, style), _desc(job, call.group, style)),
        "collective_seq_id": one.seq,
        "p2p_seq_id": one.p2p_seq,
        "op_id": one.op_id,
        "profiling_name": label,
        "time_created_ns": one.created + closes,
        "input_sizes": sizes,
        "input_dtypes": [call.dtype] * len(sizes),
        "output_sizes": out,
        "output_dtypes": [call.dtype] * len(out),
        "state": "completed" if over and not gloo else "started" if started and not gloo else "scheduled",
        "time_discovered_started_ns": one.created + 1000 if started and not gloo else None,
        "time_discovered_completed_ns": one.ended if over and not gloo else None,
        "retired": over,
        "timeout_ms": 600000,
        "is_p2p": call.peer is not None,
        "frames": [dict(zip(("name", "filename", "line"), call.site, strict=True)),
                   {"name": "main", "filename": "train.py", "line": 90}],
    }  # fmt: skip


def _aged(entry: Dump, style: Style) -> Dump:
    """Without what this release did not write."""
    if not style.frames or style.json:
        del entry["frames"]
    if style.release < 4:
        entry.pop("timeout_ms")
    if style.release < 2:  # groups had a name only
        entry["pg_name"] = entry.pop("process_group")[0]
    if style.release >= 9:
        entry.update(thread_id="7", thread_name="pt_main")
    if style.text_numbers:
        entry.update({key: str(entry[key]) for key in ("collective_seq_id", "p2p_seq_id")})
        entry.update({key: "".join(entry[key][:1]) for key in ("input_dtypes", "output_dtypes")})
        for key in ("pg_id", "op_id", "time_discovered_started_ns", "time_discovered_completed_ns", "retired",
                    "timeout_ms"):  # fmt: skip
            entry.pop(key, None)
    return entry


def encoded(made: Dump, style: Style) -> bytes:
    """As bytes of a file."""
    if not style.json:
        return pickle.dumps(made, protocol=2)
    plain = json.loads(json.dumps(made))
    for entry in plain["entries"]:
        for key in ("time_discovered_started_ns", "time_discovered_completed_ns"):
            if key in entry:
                entry[key] = entry[key] or 0
    for counters in plain.get("pg_status", {}).values():
        counters.update({key: str(value) for key, value in counters.items()})
    if not plain["entries"]:
        del plain["entries"]
    return json.dumps({**plain, "nccl_comm_state": 0}).encode()
