"""All processes of this host as discovery needs them; read step by step, since any one of them may block."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Callable

from ..model.gap import Gap, Why
from ..model.process import ProcessRef
from . import procfs
from .abandon import Blocked, Send, guarded

# What discovery and reports may know of a process's environment; nothing else is ever read out of it, and of no family of
# names what may be a secret.
ALLOWED = re.compile(
    r"^(?!.*(?:TOKEN(?!IZ)|SECRET|KEY|PASSW|CREDENTIAL))"
    r"(RANK|LOCAL_RANK|NODE_RANK|GROUP_RANK|ROLE_RANK|ROLE_NAME|WORLD_SIZE|LOCAL_WORLD_SIZE|GROUP_WORLD_SIZE"
    r"|MASTER_ADDR|MASTER_PORT|TORCHELASTIC_(RUN_ID|RESTART_COUNT|MAX_RESTARTS|ERROR_FILE)"
    r"|SLURM_(PROCID|LOCALID|NODEID|NTASKS|NNODES|JOB_ID|JOBID|STEP_ID|ARRAY_JOB_ID|ARRAY_TASK_ID|NODELIST|JOB_NODELIST)"
    r"|OMPI_COMM_WORLD_(RANK|LOCAL_RANK|SIZE|LOCAL_SIZE|NODE_RANK)|OMPI_MCA_orte_(node_regex|num_nodes)"
    r"|PMI_(RANK|SIZE|LOCAL_RANK)|PMIX_(RANK|NAMESPACE)|MPI_LOCALRANKID|MPI_LOCALNRANKS"
    r"|NCCL_[A-Z0-9_]+|GLOO_[A-Z_]+|TORCH_[A-Z0-9_]+|TP_SOCKET_IFNAME"
    r"|CUDA_(VISIBLE_DEVICES|LAUNCH_BLOCKING|MODULE_LOADING|DEVICE_ORDER)|HIP_VISIBLE_DEVICES|ROCR_VISIBLE_DEVICES"
    r"|OMP_NUM_THREADS|MKL_NUM_THREADS|PYTHONFAULTHANDLER|TOKENIZERS_PARALLELISM|ACCELERATE_[A-Z_]+|RAY_JOB_ID)$"
)
_KERNEL_THREAD = 0x00200000  # PF_KTHREAD in the flags of proc(5)
# What processes that stand still may cost together; of those behind them only what never blocks is read (their stat).
_LOST_S = 5.0
_PATIENT = 2  # where so many stood still, a shorter wait tells as much
_STANDS_STILL = "its command line and its environment stood still"
_LEFT_OUT = "not read: too many processes before it stood still"


@dataclass(frozen=True)
class Seen:
    """One process as discovery sees it; ``environ`` holds the allowed variables, None when we may not read it."""

    pid: int
    parent: int
    group: int
    session: int
    started: int
    comm: str
    state: str
    uid: int
    command: tuple[str, ...] = ()
    executable: str | None = None
    environ: Mapping[str, str] | None = None
    unreadable: str = ""  # why something is missing, in words
    missing: Why | None = None  # and of which kind that reason is
    exit_status: int = 0  # of a zombie, as wait(2) gives it, where we may know

    @property
    def silent(self) -> bool:
        """Whether it lives and was not asked to the end, for want of an answer or of time: nobody refused us."""
        return self.missing in (Why.BLOCKED, Why.SKIPPED) and self.state not in "ZX"

    @property
    def python(self) -> bool:
        """Whether this looks like a Python interpreter (its executable says so, else its command line)."""
        name = os.path.basename(self.executable or (self.command[0] if self.command else ""))
        return name.startswith(("python", "pypy")) or self.comm.startswith(("pt_elastic", "pt_data_worker", "ray::"))


@dataclass(frozen=True)
class Table:
    """Every process of one host, by pid, and the children of each."""

    host: str
    seen: Mapping[int, Seen]
    gaps: tuple[Gap, ...] = ()
    children: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    def below(self, pid: int) -> Iterator[Seen]:
        """All descendants of a process, nearest first."""
        queue = list(self.children.get(pid, ()))
        met = {pid}
        while queue:
            child = queue.pop(0)
            if child not in met and child in self.seen:
                met.add(child)
                yield self.seen[child]
                queue.extend(self.children.get(child, ()))

    def above(self, pid: int) -> Iterator[Seen]:
        """The ancestors of a process, nearest first."""
        met = {pid}
        at = self.seen.get(pid)
        while at is not None and at.parent not in met:
            met.add(at.parent)
            at = self.seen.get(at.parent)
            if at is not None:
                yield at


def read_table(
    host: str, proc: str = "/proc", deadline_s: float = 1.0, meanwhile: Callable[[], object] = lambda: None
) -> Table:
    """Look at every process once; what blocks or is refused becomes a gap. ``meanwhile`` is called while the child looks."""
    seen: dict[int, Seen] = {}
    gaps = []
    lost: list[float] = []  # a child that takes over sees what the ones before it cost
    looks = guarded(
        procfs.pids(proc), lambda pid, send: _look(proc, pid, send, sum(lost) < _LOST_S),
        lambda _: deadline_s if len(lost) < _PATIENT else deadline_s / 4, meanwhile=meanwhile,
    )  # fmt: skip
    for answer in looks:
        if isinstance(answer.said, Blocked):
            lost.append(answer.said.after_s)
            known = _known(proc, answer.step)
            if known is not None:
                seen[answer.step] = Seen(**known, unreadable=_STANDS_STILL, missing=Why.BLOCKED)
            gaps.append(Gap("process", Why.BLOCKED, f"/proc/{answer.step}: {answer.said.reason}",
                            process=ProcessRef(host, answer.step, known["started"] if known else 0)))  # fmt: skip
        else:
            body = json.loads(answer.said)
            body["command"] = tuple(body["command"])
            body["missing"] = Why(body["missing"]) if body["missing"] else None
            seen[answer.step] = Seen(**body)
    left_out = sum(one.missing is Why.SKIPPED for one in seen.values())
    if left_out:
        gaps.append(Gap("process", Why.SKIPPED, f"{left_out} more processes are known by name only: reading {len(lost)} "
                        f"others stood still for {sum(lost):.0f} s", host=host))  # fmt: skip
    children: dict[int, list[int]] = {}
    for one in seen.values():
        children.setdefault(one.parent, []).append(one.pid)
    return Table(host, seen, tuple(gaps), {pid: tuple(sorted(below)) for pid, below in children.items()})


def _look(proc: str, pid: int, send: Send, whole: bool = True) -> None:
    """Runs in the guarded child: one process, as JSON; a process that is gone says nothing.

    The command and the environment lie in the memory of the process, and wait for its lock; without ``whole`` they are left out.
    """
    known = _known(proc, pid)
    if known is None:
        return
    command: tuple[str, ...] = ()
    environ: dict[str, str] | None = None
    unreadable, missing = ("", None) if whole else (_LEFT_OUT, Why.SKIPPED)
    try:
        if whole:
            command = procfs.command(proc, pid)
            environ = {name: value for name, value in procfs.environ(proc, pid).items() if ALLOWED.match(name)}
    except OSError as error:
        unreadable, missing = error.strerror or str(error), _why(error)
    known.update(command=command, environ=environ, unreadable=unreadable, missing=missing)
    send(json.dumps(known).encode())


def _known(proc: str, pid: int) -> dict[str, Any] | None:
    """What the kernel itself tells of a process, whatever that does: it never blocks. None of one that is gone, and of threads of
    the kernel."""
    try:
        stat = procfs.stat(proc, pid)
        uid = os.stat(f"{proc}/{pid}").st_uid
    except (OSError, ValueError, IndexError):
        return None
    if stat.flags & _KERNEL_THREAD:
        return None
    return {
        "pid": pid, "parent": stat.parent, "group": stat.group, "session": stat.session, "started": stat.started,
        "comm": stat.comm, "state": stat.state, "uid": uid, "executable": procfs.executable(proc, pid),
        "exit_status": stat.exit_status if stat.state in "ZX" else 0,
    }  # fmt: skip


def _why(error: OSError) -> Why:
    if isinstance(error, PermissionError):
        return Why.DENIED
    return Why.GONE if isinstance(error, (FileNotFoundError, ProcessLookupError)) else Why.FAILED
