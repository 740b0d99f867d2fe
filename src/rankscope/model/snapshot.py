"""The job and its sweeps: all that was seen, before anybody judges it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .gap import Gap
from .process import Process, ProcessRef
from .ranks import RankSet

SCHEMA = "rankscope/snapshot"
VERSION = 1


@dataclass(frozen=True)
class Host:
    """One machine of the job. ``clock_offset_s`` is its wall clock minus ours."""

    name: str
    kernel: str = ""
    boot_id: str = ""
    clock_offset_s: float | None = None


FILES = "files"  # the launcher of what was joined from anybody's files


@dataclass(frozen=True)
class Job:
    """All processes of one run. ``world_size`` is what the launcher promised, None where nobody says.

    ``expected`` are the ranks that should run on the hosts that were looked at, as folded text; empty where unknown.
    ``meeting`` tells this run from others on every one of its hosts: meeting point, run id, Slurm step.
    """

    launcher: str
    root: ProcessRef | None = None
    world_size: int | None = None
    name: str = ""
    expected: str = ""
    meeting: tuple[str, ...] = ()

    @property
    def expected_ranks(self) -> RankSet:
        """``expected`` as a set; empty where nobody can read it."""
        try:
            return RankSet.parse(self.expected)
        except ValueError:
            return RankSet()


@dataclass(frozen=True)
class Item:
    """One record of evidence about one process (or about the job, when ``process`` is None)."""

    process: ProcessRef | None
    record: Any


@dataclass(frozen=True)
class Sweep:
    """One pass over the job. ``at_s`` is wall-clock time at its start; ``present`` are the processes then alive."""

    index: int
    at_s: float
    present: tuple[ProcessRef, ...] = ()
    items: tuple[Item, ...] = ()


@dataclass(frozen=True)
class Effort:
    """What the look cost: time taken, time slept before looks and between them, and the longest pause of any process."""

    took_s: float = 0.0
    slept_s: float = 0.0
    paused_ms_max: float = 0.0


@dataclass(frozen=True)
class Snapshot:
    """A job as it was seen. What follows from it is the case (``analysis``)."""

    job: Job
    hosts: tuple[Host, ...] = ()
    processes: tuple[Process, ...] = ()
    sweeps: tuple[Sweep, ...] = ()
    gaps: tuple[Gap, ...] = ()
    effort: Effort = field(default_factory=Effort)
    live: bool = True  # taken from running processes; False when it was put together from files
    complete: bool = True  # False when collecting was cut short
