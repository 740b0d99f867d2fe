"""Processes of a job and what part they play in it."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Role(str, enum.Enum):
    """What part a process plays in the job."""

    LAUNCHER = "launcher"  # starts and watches the ranks: torchrun's agent, mpirun, the parent of mp.spawn
    RANK = "rank"  # takes part in collectives
    DATALOADER_WORKER = "dataloader-worker"  # loads batches for one rank
    COMPILE_WORKER = "compile-worker"  # compiles kernels for one rank (Inductor, Triton)
    CHECKPOINT_WRITER = "checkpoint-writer"  # writes checkpoints for one rank
    HELPER = "helper"  # multiprocessing's resource tracker, forkserver and semaphore tracker
    OTHER = "other"  # any other member of the job's process tree


# The host of a process that a file tells of without a word where it ran, and the start time of one without a number:
# then the pid is only ours, to tell it from others.
UNKNOWN_HOST = "file"
UNNUMBERED = -1
TICKS_PER_S = 100  # of a process's start and CPU time (proc(5)): USER_HZ, the same on every Linux that torch runs on


@dataclass(frozen=True)
class ProcessRef:
    """One process of the job; the start time tells it from a later owner of the same pid.

    ``started`` is in clock ticks since boot (proc(5), field 22 of stat); 0 where the evidence does not say. Pid 0 stands
    for the host as a whole, where it does not answer and its processes have no names.
    """

    host: str
    pid: int
    started: int = 0

    def __str__(self) -> str:
        if self.host == UNKNOWN_HOST:
            return f"pid {self.pid}" if self.started != UNNUMBERED else f"process {self.pid} of the files"
        return f"{self.host}:{self.pid}" if self.pid else self.host

    @property
    def numbered(self) -> bool:
        """Whether the pid is one of the system, and not only ours."""
        return self.started != UNNUMBERED

    @property
    def spoken(self) -> str:
        """Number and host, as far as they are known, as sentences need them."""
        number = f"pid {self.pid}" if self.started != UNNUMBERED else ""
        return " ".join(filter(None, (number, "" if self.host == UNKNOWN_HOST else f"on {self.host}")))

    @property
    def key(self) -> str:
        """The reference as one string, as snapshots write it; ``parse`` reads it back."""
        return f"{self.host}:{self.pid}:{self.started}"

    @classmethod
    def parse(cls, key: str) -> ProcessRef:
        """Read a ``key``; raise ValueError when it is not one."""
        host, pid, started = key.rsplit(":", 2)
        return cls(host, int(pid), int(started))


@dataclass(frozen=True)
class Process:
    """One member of a job, as found on its host (or as named by a file of evidence).

    ``rank`` … ``world_size`` are None where neither the environment nor the evidence tells them. ``owner`` is the pid
    of the rank that a worker or helper serves; ``worker`` is the loader worker's id.
    """

    ref: ProcessRef
    role: Role
    parent: int = 0
    comm: str = ""
    command: tuple[str, ...] = ()
    executable: str | None = None
    python: str | None = None
    uid: int = -1
    rank: int | None = None
    local_rank: int | None = None
    world_size: int | None = None
    owner: int | None = None
    worker: int | None = None
    label: str | None = None  # what the source called it, when evidence comes from files
    attempt: int | None = None  # how often its elastic agent had started its ranks before (TORCHELASTIC_RESTART_COUNT)
