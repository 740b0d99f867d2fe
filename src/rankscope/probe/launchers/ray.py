"""Ray Train's workers: processes under a raylet that Ray names after their class; training runs in a thread of theirs.

Nothing in the environment at exec tells a rank (only RAY_JOB_ID), so none is claimed: where the stacks hold a local called
``rank`` or ``world_rank``, the analysis takes it from there. Idle workers and Ray's own services are no members.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ..launcher import Claim, Launcher, is_python_program, with_descendants
from ..table import Seen, Table

# comm is cut at 15 characters: "ray::RayTrainWorker" shows as "ray::RayTrainWo"; "ray::IDLE" waits for work.
_TITLE = "ray::"
_NO_JOB = ("", "ffffffff")  # what RAY_JOB_ID reads at exec of a worker that waits for any job
_NO_WORK = ("ray::IDLE", "ray::SPILL", "ray::RESTORE")


def find(table: Table, free: frozenset[int]) -> Iterator[Claim]:
    jobs: dict[tuple[int | None, str], list[Seen]] = defaultdict(list)
    for pid in sorted(free):
        seen = table.seen[pid]
        if _works(seen):
            jobs[_raylet(table, pid), (seen.environ or {}).get("RAY_JOB_ID", "")].append(seen)
    _adopt(jobs)
    for workers in jobs.values():
        trainers = [one for one in workers if "trainworker" in _title(one).lower()] or workers
        if len(trainers) > 1:
            members = {*with_descendants(table, tuple(one.pid for one in trainers))} & free
            driver = _driver(table, trainers[0].pid, free)
            yield Claim("ray", driver, {}, tuple(sorted(members | ({driver} if driver is not None else set()))))


def _adopt(jobs: dict[tuple[int | None, str], list[Seen]]) -> None:
    """Give workers that were started in advance, for no job yet, to the job that runs the same class, or to the only one."""
    for raylet, number in [key for key in jobs if key[1] in _NO_JOB]:
        others = [key for key in jobs if key[0] == raylet and key[1] not in _NO_JOB]
        for seen in jobs[raylet, number][:]:
            alike = [key for key in others if any(_title(one) == _title(seen) for one in jobs[key])]
            if len(alike or others) == 1:
                jobs[(alike or others)[0]].append(seen)
                jobs[raylet, number].remove(seen)


def _works(seen: Seen) -> bool:
    """Whether it is a worker of some job; Ray's own agents bear titles too, but serve no job."""
    title, environ = _title(seen), seen.environ
    serves = environ is not None and "RAY_JOB_ID" not in environ
    return title.startswith(_TITLE) and not title.startswith(_NO_WORK) and seen.state not in "ZX" and not serves


def _title(seen: Seen) -> str:
    """What Ray calls the process: in its command line where that was overwritten, else in its short name."""
    first = seen.command[0] if seen.command else ""
    return first if first.startswith(_TITLE) else seen.comm


def _raylet(table: Table, pid: int) -> int | None:
    return next((seen.pid for seen in table.above(pid) if seen.comm == "raylet"), None)


def _driver(table: Table, pid: int, free: frozenset[int]) -> int | None:
    """The program that started Ray for itself (``ray.init`` without an address), and with it the raylet."""
    raylet = _raylet(table, pid)
    parent = table.seen.get(table.seen[raylet].parent) if raylet is not None else None
    return parent.pid if parent is not None and parent.pid in free and is_python_program(parent) else None


LAUNCHER = Launcher("ray", 48, find)
