"""What the state of a Slurm job means for a look at it, in words: where there is nothing to see, why, and what to type next
(squeue(1): job state codes, job reason codes)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..errors import RankscopeError
from ..model.gap import Gap, Why
from ..model.words import verb

HALTED = ("SUSPENDED", "STOPPED")
ENDING = ("COMPLETING", "STAGE_OUT", "SIGNALING")
SET_UP = ("CONFIGURING",)
HERE = ("RUNNING", "RESIZING", *HALTED, *ENDING, *SET_UP)  # states in which a job has nodes
PROLOG = "Prolog"  # the reason of a job that runs for Slurm, and has no process yet (slurm.conf(5), PrologFlags=Alloc)
WHAT = "Slurm job"

# Why a job waits: the beginning of Slurm's word, what it means, and a command that helps ({} is the job).
_REASONS = (
    ("Priority", "other jobs come first", "squeue --start -j {}"),
    ("Resources", "it waits for nodes that are free", "squeue --start -j {}"),
    ("BeginTime", "it may not start before its begin time; a job that was requeued waits two minutes", "squeue --start -j {}"),
    ("DependencyNeverSatisfied", "the job that it waits for did not end as it should: it will never start", "scancel {}"),
    ("Dependency", "it waits for another job", "scontrol show job {}"),
    ("JobHeldUser", "it is held by its owner", "scontrol release {}"),
    ("JobHeldAdmin", "it is held by an administrator", "scontrol show job {}"),
    ("launch failed requeued held", "its start failed on a node, and Slurm holds it", "scontrol release {}"),
    ("JobHoldMaxRequeue", "it was requeued too often, and Slurm holds it", "scontrol show job {}"),
    ("ReqNodeNotAvail", "nodes that it asks for are down, drained or reserved", "sinfo -R"),
    ("PartitionDown", "its partition is closed", "sinfo -s"),
    ("PartitionInactive", "its partition is closed", "sinfo -s"),
    ("Reservation", "it waits for its reservation", "scontrol show reservation"),
    ("Licenses", "it waits for a licence", "scontrol show licenses"),
    ("QOS", "a limit of its quality of service is reached", "scontrol show job {}"),
    ("Assoc", "a limit of its account is reached", "scontrol show job {}"),
    ("NodeDown", "a node that it needs is down", "sinfo -R"),
)  # fmt: skip


@dataclass(frozen=True)
class Job:
    """A line of squeue: what Slurm calls the job now, where it runs, and its state."""

    id: str
    nodes: str
    state: str
    shown: str  # as a user writes it: 12_3 for a task of an array, 12+1 for a part of a heterogeneous job
    owner: str = ""
    reason: str = ""
    name: str = ""

    @property
    def ending(self) -> bool:
        """Whether Slurm ends it: its processes get signals, then epilogs run, and no step can be started."""
        return self.state in ENDING


def nothing_yet(job: Job) -> RankscopeError | None:
    """Why a job that has nodes has no process to look at, or none that would answer; None where it should have some."""
    if job.state in HALTED:
        because = f"its state is {job.state}: Slurm itself has stopped its processes, and starts nothing beside them"
        hint = f"scontrol resume {job.shown}   # or look all the same: rankscope diagnose 'ssh:{job.nodes}'"
        return RankscopeError(f"Slurm job {job.shown} is halted", because, hint)
    if job.state not in SET_UP and job.reason != PROLOG:
        return None
    what = "a node of it boots or is made ready" if job.state in SET_UP else "a node of it still runs Slurm's prolog"
    because = f"its state is {job.state} on {job.nodes}: {what}, and none of its processes has started"
    hint = f"scontrol show node {job.nodes} | grep -E 'NodeName|State|Reason'   # which of them is not ready"
    return RankscopeError(f"Slurm job {job.shown} is still being set up", because, hint)


def not_running(spec: str, jobs: list[Job], about: Iterable[str] = (), hint: str = "squeue --me") -> RankscopeError:
    """There is no node to look at: the job waits, or it has ended. ``about`` is what else is known of the first."""
    what = "you have no running Slurm job" if spec == "me" else f"there is no running Slurm job {spec}"
    if not jobs:
        who = "you have no job" if spec == "me" else f"it has ended (sacct -j {spec} tells how)"
        return RankscopeError(what, "\n           ".join([who, *about]), hint)
    lines = [f"{job.shown} is {job.state}" + f" ({_meaning(job)})" * bool(job.reason) for job in jobs[:4]]
    lines += [f"and {len(jobs) - 4} more"] * (len(jobs) > 4)
    hint = next((text for word, _, text in _REASONS if jobs[0].reason.startswith(word)), "scontrol show job {}")
    because = "\n           ".join([*lines, *about])
    return RankscopeError(what, because, hint.format(jobs[0].shown))


def _meaning(job: Job) -> str:
    """Slurm's word for why a job waits, and what it means."""
    said = next((text for word, text, _ in _REASONS if job.reason.startswith(word)), "")
    return f"{job.reason}: {said}" if said else job.reason


def ending(number: str, names: Iterable[str], given: Iterable[str]) -> Iterator[Gap]:
    """What is missing because Slurm ends the job: steps everywhere, and processes on the nodes that it is done with."""
    names = tuple(names)
    late = f"{', '.join(names[:16])} {verb('are', len(names))} not done with it"
    detail = f"{number} is COMPLETING: its processes were told to end, and {late}"
    yield Gap(WHAT, Why.GONE, detail, f"scontrol show job {number}")
    for name in given:
        if name not in names:
            yield Gap("host", Why.GONE, "Slurm has ended the job there", host=name)


def all_gone(number: str, names: str, reasons: Iterable[str]) -> RankscopeError:
    """No process of an ending job was found on the nodes that are not done with it."""
    because = ["its processes have ended; an epilog that runs, or slurmd, keeps it", *reasons]
    hint = f"scontrol show node {names}"
    what = f"Slurm job {number} is COMPLETING, and no process of it was found on {names}"
    return RankscopeError(what, "\n           ".join(because), hint)
