"""A job that exists on paper: every rank has a list of calls, and the dumps are what torch would have written.

Devices work in order: a call is over when every member has issued it, alike, and nothing unfinished lies before it on any
of them. A rank issues calls until ``ahead`` of them are unfinished (1 is a CPU job that waits for each call).
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.paper import T0
from harness.paper import Call as Do

__all__ = ["T0", "Do"]


@dataclass
class Job:
    """Groups (name → description and members), a program per rank, and what to do with the dumps."""

    groups: Mapping[str, tuple[str, tuple[int, ...]]]
    programs: list[list[Do]]
    ahead: int = 4
    backend: str = "nccl"
    version: str = "2.10"
    capacity: int = 2000
    only_active: bool = False
    stops: dict[int, int] = field(default_factory=dict)  # rank → index of the first call it never issues
    broken: set[tuple[str, int]] = field(default_factory=set)  # (group, seq) that never complete
    no_dump: set[int] = field(default_factory=set)
    state: dict[int, list[dict[str, Any]]] = field(default_factory=dict)

    def run(self) -> Job:
        """Issue and complete until nothing moves."""
        self.state = {rank: [] for rank in range(len(self.programs))}
        at = [0] * len(self.programs)
        clock = 0
        moved = True
        while moved:
            moved = False
            for rank, program in enumerate(self.programs):
                clock += 1
                if at[rank] < min(len(program), self.stops.get(rank, 1 << 30)) and self._open(rank) < self.ahead:
                    self._issue(rank, program[at[rank]], clock)
                    at[rank] += 1
                    moved = True
            moved |= self._complete(clock)
        return self

    def _open(self, rank: int) -> int:
        return sum(not entry["done"] for entry in self.state[rank])

    def _issue(self, rank: int, do: Do, clock: int) -> None:
        mine = [entry for entry in self.state[rank] if entry["do"].group == do.group]
        p2p = do.peer is not None
        seq = sum(entry["do"].peer is None for entry in mine) + (not p2p)
        same_batch = bool(mine) and do.batch and mine[-1]["do"].batch == do.batch
        p2p_seq = max((entry["p2p_seq"] for entry in mine), default=0) + (p2p and not same_batch)
        pair = None
        if p2p:
            me = self.groups[do.group][1].index(rank)
            pair = (me, do.peer) if do.op == "send" else (do.peer, me)
        nth = sum(entry["do"].op == do.op and entry["pair"] == pair for entry in mine)
        self.state[rank].append({"id": len(self.state[rank]), "do": do, "seq": seq, "p2p_seq": p2p_seq if p2p else 0,
                                 "op_id": len(mine) + 1, "pair": pair, "nth": nth, "done": False,
                                 "created": T0 + clock * 1_000_000 + rank})  # fmt: skip

    def _complete(self, clock: int) -> bool:
        moved = False
        for rank in self.state:
            for entry in self._heads(rank):
                parties = self._parties(rank, entry)
                if parties and not (entry["do"].peer is None and (entry["do"].group, entry["seq"]) in self.broken):
                    for other in parties:
                        other["done"], other["over"] = True, T0 + clock * 1_000_000 + 500_000
                    moved = True
        return moved

    def _heads(self, rank: int) -> list[dict[str, Any]]:
        """The first unfinished call, or all unfinished ones of its batch."""
        opened = [entry for entry in self.state[rank] if not entry["done"]]
        if not opened:
            return []
        batch = opened[0]["do"].batch
        return [entry for entry in opened if batch and entry["do"].batch == batch] or opened[:1]

    def _parties(self, rank: int, entry: dict[str, Any]) -> list[dict[str, Any]] | None:
        do = entry["do"]
        members = self.groups[do.group][1]
        if do.peer is None:
            found = [next((e for e in self._heads(m) if e["do"].peer is None and e["do"].group == do.group
                           and e["seq"] == entry["seq"]), None) for m in members]  # fmt: skip
            if None in found:
                return None
            alike = {(e["do"].op, e["do"].dtype, e["do"].sizes if do.op != "all_to_all" else 0) for e in found}
            return found if len(alike) == 1 else None
        source, target = (members[i] for i in entry["pair"])
        other = target if rank == source else source
        wanted = "recv" if do.op == "send" else "send"
        match = next((e for e in self._heads(other) if e["do"].group == do.group and e["pair"] == entry["pair"]
                      and e["do"].op == wanted and e["nth"] == entry["nth"]), None)  # fmt: skip
        return [entry, match] if match and match["do"].sizes == do.sizes else None

    def dump(self, rank: int) -> dict[str, Any]:
        """What torch would write for one rank."""
        entries = self.state[rank][-self.capacity :]
        if self.only_active:
            entries = [entry for entry in entries if not entry["done"]]
        own = [name for name, (_, ranks) in self.groups.items() if rank in ranks]
        ids = {name: at for at, name in enumerate(own)}
        gloo = self.backend == "gloo"
        config = {name: {"name": name, "desc": self.groups[name][0], "ranks": str(list(self.groups[name][1]))}
                  for name in own}  # fmt: skip
        return {
            "version": self.version,
            "pg_config": {"": {"name": "", "desc": "", "ranks": "[]"}} if gloo else config,
            "comm_lib_version" if self.version >= "2.1" and self.version != "2.9" else "nccl_version": "2.27.5",
            "pg_status": {str(ids[name]): self._counters(rank, name) for name in own},
            "entries": [self._entry(entry, ids) for entry in entries],
        }

    def _counters(self, rank: int, name: str) -> dict[str, int]:
        mine = [entry for entry in self.state[rank] if entry["do"].group == name and entry["do"].peer is None]
        return {"last_enqueued_collective": max((e["seq"] for e in mine), default=-1), "last_started_collective": -1,
                "last_completed_collective": max((e["seq"] for e in mine if e["done"]), default=-1)}  # fmt: skip

    def _entry(self, entry: dict[str, Any], ids: Mapping[str, int]) -> dict[str, Any]:
        do, gloo = entry["do"], self.backend == "gloo"
        label = f"{self.backend}:{do.op}"
        if do.peer is not None:
            a, b = entry["pair"]
            label += f" {a}->{b}" if do.op == "send" else f" {b}<-{a}"
        done = entry["done"]
        return {
            "record_id": entry["id"],
            "pg_id": ids[do.group],
            "process_group": (do.group, self.groups[do.group][0]),
            "collective_seq_id": entry["seq"],
            "p2p_seq_id": entry["p2p_seq"],
            "op_id": entry["op_id"],
            "profiling_name": label,
            "time_created_ns": entry["created"],
            "input_sizes": [list(do.sizes)],
            "input_dtypes": [do.dtype],
            "output_sizes": [list(do.out or do.sizes)],
            "output_dtypes": [do.dtype],
            "state": "completed" if done and not gloo else "scheduled",
            "time_discovered_started_ns": None,
            "time_discovered_completed_ns": entry.get("over") if done and not gloo else None,
            "retired": done,
            "timeout_ms": 600000,
            "is_p2p": do.peer is not None,
            "frames": [dict(zip(("name", "filename", "line"), do.site, strict=True))],
        }

    def dumps(self) -> dict[int, dict[str, Any]]:
        """All dumps that were written."""
        return {rank: self.dump(rank) for rank in self.state if rank not in self.no_dump}


def pickled(dump: Mapping[str, Any]) -> bytes:
    """As torch pickles it."""
    return pickle.dumps(dump, protocol=2)


def as_json(dump: Mapping[str, Any]) -> bytes:
    """As torch writes JSON: no frames, lists for pairs, text for counters, 0 for unknown times, no empty ring."""
    plain = json.loads(json.dumps(dump))
    for entry in plain["entries"]:
        entry.pop("frames")
        for key in ("time_discovered_started_ns", "time_discovered_completed_ns"):
            entry[key] = entry[key] or 0
    for counters in plain["pg_status"].values():
        counters.update({key: str(value) for key, value in counters.items()})
    if not plain["entries"]:
        del plain["entries"]
    plain["nccl_comm_state"] = 0
    return json.dumps(plain).encode()


def mesh(tp: int, dp: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The default group, tensor-parallel rows and data-parallel columns of tp × dp ranks."""
    groups: dict[str, tuple[str, tuple[int, ...]]] = {"0": ("default_pg", tuple(range(tp * dp)))}
    for row in range(dp):
        groups[str(len(groups))] = ("tp", tuple(range(row * tp, row * tp + tp)))
    for column in range(tp):
        groups[str(len(groups))] = ("dp", tuple(range(column, tp * dp, tp)))
    return groups


def training(groups: Mapping[str, tuple[str, tuple[int, ...]]], rank: int, steps: int) -> list[Do]:
    """A step: layers over tp, gradients over dp, a flag over all."""
    own = {desc: name for name, (desc, ranks) in groups.items() if rank in ranks}
    program = []
    for _ in range(steps):
        if "tp" in own:
            size = len(groups[own["tp"]][1])
            for layer in range(3):
                program.append(
                    Do(own["tp"], "_all_gather_base", (32, 4), (32 * size, 4), site=("forward", "net.py", layer))
                )
                program.append(Do(own["tp"], "_reduce_scatter_base", (32 * size, 4), (32, 4)))
        if "dp" in own:
            program += [Do(own["dp"], "all_reduce", (4096,)), Do(own["dp"], "all_reduce", (512,))]
        program += [Do("0", "broadcast", (16,), dtype="Long"), Do("0", "all_reduce", (1,))]
    return program


def flat(world: int, steps: int) -> tuple[dict[str, tuple[str, tuple[int, ...]]], list[list[Do]]]:
    """One group, calls of several kinds and sizes in no simple period."""
    kinds = [("all_reduce", (128,)), ("_all_gather_base", (32,)), ("all_reduce", (4096,)), ("broadcast", (16,)),
             ("_reduce_scatter_base", (256,)), ("all_reduce", (77,))]  # fmt: skip
    program = [Do("0", *kinds[(step * step + step // 3) % len(kinds)]) for step in range(steps)]
    return {"0": ("default_pg", tuple(range(world)))}, [list(program) for _ in range(world)]


def ranks_of(dumps: Sequence[int]) -> list[int]:
    """Sorted ranks."""
    return sorted(dumps)
