"""The whole story in order: find → sweep → snapshot → case → diagnosis.

``gather`` takes live evidence on this host or on all hosts of a job, ``judge`` draws the conclusions; a snapshot file
joins the two, so that both can run on different machines.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .model.gap import Gap
from .model.snapshot import Host, Snapshot
from .probe import discover, host
from .probe.discover import Found
from .probe.sweep import Plan
from .probe.table import read_table
from .steps.judging import case_of, judge
from .steps.loading import make_ready_to_look
from .steps.looking_on import look_on, may_run_on
from .steps.sweeping import Progress, Rehearsal, sweep

if TYPE_CHECKING:
    from .model.diagnosis import Diagnosis
    from .model.evidence.source import Place
    from .probe.source_lines import Lines
    from .reach.gather import Remote
    from .reach.transport import Options

__all__ = [
    "Look", "case_of", "closed", "diagnose", "find", "gather", "judge", "look_again", "source", "sweep", "told",
]  # fmt: skip


# An elastic agent whose ranks fail at once is often met without any.
_LOOKS_FOR_RANKS, _APART_S = 5, 0.3


@dataclass(frozen=True)
class Look:
    """What to look at and how; ``pid`` is None for every job of this host, ``remote`` a job on other hosts, ``follow`` how
    to get to the hosts that a job of this host names (None: only name them)."""

    pid: int | None = None
    plan: Plan = field(default_factory=Plan)
    proc: str = "/proc"
    remote: Remote | None = None
    follow: Options | None = None


def find(look: Look) -> tuple[Host, tuple[Found, ...]]:
    """The jobs on this host (or the one that a pid belongs to)."""
    here = host.describe(look.proc)
    table = read_table(here.name, look.proc, meanwhile=make_ready_to_look)
    if look.pid is None:
        return here, discover.with_gaps(table, discover.jobs(table))
    found = discover.job_of(table, look.pid)
    looks = 1
    while found is not None and discover.between_attempts(found) and looks < _LOOKS_FOR_RANKS:
        time.sleep(_APART_S)
        table = read_table(here.name, look.proc)
        found, looks = discover.job_of(table, look.pid), looks + 1
    return here, discover.with_gaps(table, (found,) if found else ())


def closed(proc: str = "/proc") -> tuple[Gap, ...]:
    """What on this host may be a job, and did not let itself be looked at."""
    return discover.closed(read_table(host.describe(proc).name, proc))


def gather(look: Look, progress: Progress = lambda _: None, stuck_after_s: float | None = None) -> Iterator[Snapshot]:
    """One snapshot per job: of this host, or joined from all hosts of a target.

    With ``stuck_after_s``, a look at a lone program may last until that time is over.
    """
    if look.remote is not None:
        from .reach.gather import gather as gather_remote  # only where a target names other hosts

        rehearsal = Rehearsal(due=stuck_after_s is not None and look.plan.sweeps > 1)
        idle = rehearsal if rehearsal.due else None
        yield from map(rehearsal.told, gather_remote(look.remote, look.plan, progress, rehearsal=idle))
        return
    from .reach import learn

    here, jobs = find(look)
    for found in jobs:
        snapshot = sweep(here, found, look.plan, progress, judged=stuck_after_s is not None)
        try:
            if stuck_after_s is not None and look.plan.sweeps > 1 and may_run_on(found, snapshot):
                snapshot = look_on(here, found, look.plan, snapshot, stuck_after_s, progress)
            joined = list(learn.follow(snapshot, look.plan, look.follow, progress))
        except KeyboardInterrupt:  # what was seen before stays
            joined = [replace(snapshot, complete=False)]
        yield from joined


def look_again(look: Look, found: Found, plan: Plan) -> Snapshot:
    """Look once more at some processes of a job, wherever they run."""
    if look.remote is None:
        return sweep(host.describe(look.proc), found, plan)
    from .reach import again

    return again.look(look.remote, [process.ref for process in found.processes], plan)


def source(look: Look, places: Sequence[Place], around: int) -> dict[Place, Lines]:
    """The lines around places where processes stand: of this host, and of those that the look went to."""
    from .probe import source_lines

    here = host.describe(look.proc).name
    read = source_lines.read([place for place in places if place.ref.host == here], around, look.proc)
    away = [place for place in places if place.ref.host != here]
    if away and look.remote is not None:
        from .reach import again

        read.update(again.source(look.remote, away, around))
    return read


def diagnose(
    look: Look, stuck_after_s: float, progress: Progress = lambda _: None
) -> Iterator[tuple[Snapshot, Diagnosis]]:
    """One snapshot and one diagnosis per job."""
    began = time.monotonic()
    for snapshot in gather(look, progress, stuck_after_s):
        yield snapshot, told(look, snapshot, stuck_after_s, began)
        began = time.monotonic()


def told(look: Look, snapshot: Snapshot, stuck_after_s: float, began: float) -> Diagnosis:
    """The diagnosis of a job as the user of a look reads it, and what it took since ``began`` (monotonic seconds)."""
    diagnosis = _for_reader(judge(snapshot, stuck_after_s), look)
    return replace(diagnosis, effort=replace(snapshot.effort, took_s=round(time.monotonic() - began, 3)))


def _for_reader(diagnosis: Diagnosis, look: Look) -> Diagnosis:
    """The diagnosis with commands that reach the job from where the user sits."""
    from .analysis.commands import addressed  # not before the job has been looked at
    from .reach import address

    here = host.describe(look.proc).name
    remote = look.remote
    to = address.away(here, remote, diagnosis.gaps) if remote is not None else address.beside(here, look.follow)
    return addressed(diagnosis, to)
