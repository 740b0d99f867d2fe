"""What an agent is asked to do, as it travels: one object of JSON."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

from .engine import StackOptions
from .sweep import Plan

_SKEW_S = 5.0  # clocks further apart than this are not trusted to start together


@dataclass(frozen=True)
class Errand:
    """What the agent is asked to do. ``sent_s`` and ``start_s`` are the sender's wall clock."""

    sweeps: int = 2
    interval_s: float = 1.0
    engine: str = "auto"
    only: tuple[str, ...] | None = None
    stacks: dict[str, Any] = dataclasses.field(default_factory=dict)
    sent_s: float = 0.0
    start_s: float = 0.0
    deadline_s: float = 15.0
    alarm_s: int = 30
    slurm_job: str = ""  # the numbers by which Slurm knows the job on the node, with commas
    mpi_job: str = ""  # the name that an mpirun gives what it starts
    pid: int | None = None
    refs: tuple[str, ...] | None = None  # only these processes, by their keys; None for all
    source: tuple[tuple[str, str, int], ...] = ()  # instead of a look: lines around a process's key, file and line
    around: int = 1
    py_spy: str = ""  # where the loader keeps a py-spy that came along
    line: bool = False  # whether the sender holds our standard input open for as long as it listens
    installation: str = ""  # what the loader says of the installation on this node
    proc: str = "/proc"

    @classmethod
    def parse(cls, text: str) -> Errand:
        """Read an errand; raise ValueError when it is none. Words of a newer sender are passed over."""
        body = json.loads(text)
        if not isinstance(body, dict):
            raise ValueError("an errand is an object")
        names = {field.name for field in dataclasses.fields(cls)}
        body = {name: value for name, value in body.items() if name in names}
        for name in ("only", "refs"):
            body[name] = tuple(body[name]) if body.get(name) is not None else None
        body["source"] = tuple((str(key), str(file), int(line)) for key, file, line in body.get("source") or ())
        return cls(**body)

    def plan(self, now_s: float) -> Plan:
        """The sweeps to make; a clock that is far from the sender's starts at once."""
        together = abs(now_s - self.sent_s) < _SKEW_S
        known = {field.name for field in dataclasses.fields(StackOptions)}
        options = StackOptions(**{name: value for name, value in self.stacks.items() if name in known})
        return Plan(
            self.sweeps, self.interval_s, options, self.engine, frozenset(self.only) if self.only is not None else None,
            self.proc, min(self.start_s, now_s + _SKEW_S) if together else 0.0, self.deadline_s,
        )  # fmt: skip
