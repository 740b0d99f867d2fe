"""Ray Train's workers: processes under a raylet that Ray names after their class; training runs in a thread of theirs.

Nothing in the environment at exec tells a rank (only RAY_JOB_ID), so none is claimed: where the stacks hold a local called
``rank`` or ``world_rank``, the analysis takes it from there. Idle workers and Ray's own services are no members.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ..launcher import Claim, Launcher, with_descendants
from ..table import Seen, Table

# comm is cut at 15 characters: "ray::RayTrainWorker" shows as "ray::RayTrainWo"; "ray::IDLE" waits for work.
_TITLE = "ray::"
_NO_WORK = ("ray::IDLE", "ray::SPILL", "ray::RESTORE")


def find(table: Table, free: frozenset[int]) -> Iterator[Claim]:
    jobs: dict[tuple[int | None, str], list[Seen]] = defaultdict(list)
    for pid in sorted(free):
        seen = table.seen[pid]
        if _works(seen):
            jobs[_raylet(table, pid), (seen.environ or {}).get("RAY_JOB_ID", "")].append(seen)
    for workers in jobs.values():
        trainers = [one for one in workers if "train" in _title(one).lower()] or workers
        if len(trainers) > 1:
            members = with_descendants(table, tuple(one.pid for one in trainers))
            yield Claim("ray", None, {}, tuple(pid for pid in members if pid in free))


def _works(seen: Seen) -> bool:
    title = _title(seen)
    return title.startswith(_TITLE) and not title.startswith(_NO_WORK) and seen.state not in "ZX"


def _title(seen: Seen) -> str:
    """What Ray calls the process: in its command line where that was overwritten, else in its short name."""
    first = seen.command[0] if seen.command else ""
    return first if first.startswith(_TITLE) else seen.comm


def _raylet(table: Table, pid: int) -> int | None:
    return next((seen.pid for seen in table.above(pid) if seen.comm == "raylet"), None)


LAUNCHER = Launcher("ray", 48, find)
