"""How much longer to look at what computes, spins, asks or tries again: two looks do not tell a long sum from an endless one."""

from __future__ import annotations

from dataclasses import replace

from ..model.snapshot import Effort, Snapshot
from . import asking, retrying, spinning
from .case import Case
from .progress import spins_s


def left_s(case: Case) -> float | None:
    """The seconds until what has not moved counts as stuck, a lone program, ranks that spin in a call, or who asks or tries again
    and again; None where it moves, or has been there so long."""
    snapshot = case.snapshot
    if case.ranks:
        return _ranks_left_s(case) if snapshot.complete else None
    standing = case.standings.get(snapshot.job.root) if snapshot.job.root is not None else None
    lasted = spins_s(standing) if standing is not None and snapshot.complete and snapshot.sweeps else None
    if lasted is not None:
        return None if case.stuck(lasted) else case.stuck_after_s - lasted
    if not snapshot.complete:
        return None
    pause_s = retrying.left_s(standing, case.stuck_after_s) if standing is not None else None
    return pause_s if pause_s is not None else asking.left_s(case.standings.values(), case.stuck_after_s)


def _ranks_left_s(case: Case) -> float | None:
    standings = case.standings.values()
    spun_s = spinning.left_s(standings, case.stuck_after_s)
    return spun_s if spun_s is not None else asking.meeting_left_s(standings, case.stuck_after_s)


def followed(snapshot: Snapshot, later: Snapshot) -> Snapshot:
    """A snapshot and the sweeps that came after it."""
    first = len(snapshot.sweeps)
    more = tuple(replace(one, index=first + place) for place, one in enumerate(later.sweeps))
    before, after = snapshot.effort, later.effort
    effort = Effort(
        took_s=before.took_s + after.took_s,
        slept_s=before.slept_s + after.slept_s,
        paused_ms_max=max(before.paused_ms_max, after.paused_ms_max),
    )
    gaps = tuple(dict.fromkeys((*snapshot.gaps, *later.gaps)))  # what was known before the looks is in both
    return replace(snapshot, sweeps=(*snapshot.sweeps, *more), gaps=gaps, complete=later.complete, effort=effort)
