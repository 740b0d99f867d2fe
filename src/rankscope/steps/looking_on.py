"""Look on at what computes or spins at one place, until it moves or has been there for long."""

from __future__ import annotations

import math
import time
from dataclasses import replace

from ..model.gap import Gap, Why
from ..model.snapshot import Host, Snapshot
from ..probe import discover
from ..probe.discover import Found
from ..probe.sweep import MOVES, Plan
from .judging import case_of
from .sweeping import Progress, sweep

# The longest wait between two looks at a thread that may move.
_PATIENCE_S = 4.0
_LONGER = 3  # so many times the deadline may pass in all while one looks on, where nothing less tells


def may_run_on(found: Found, snapshot: Snapshot) -> bool:
    """Whether it is a lone program, or somebody stands in a call that waits at full speed, or asks again and again, perhaps for
    what a dead child should have brought."""
    from ..analysis.asking import may_ask
    from ..analysis.dead_children import failed
    from ..model.evidence.stacks import MPI, PythonStacks
    from ..model.evidence.threads import Threads

    records = [item.record for sweep in snapshot.sweeps[-1:] for item in sweep.items]
    if found.job.launcher == discover.ALONE or any(isinstance(one, Threads) and failed(one) for one in records):
        return True
    threads = (thread for one in records if isinstance(one, PythonStacks) for thread in one.threads)
    return any(may_ask(one) or any(frame.file.endswith(MPI) for frame in one.stack) for one in threads)


def look_on(
    here: Host, found: Found, plan: Plan, snapshot: Snapshot, stuck_after_s: float, progress: Progress
) -> Snapshot:
    """Look on at what computes or spins at one place, until it moves or has been there long enough to count; not where that is
    farther away than a few deadlines."""
    from ..analysis import patience

    root, end = found.job.root, time.monotonic() + (_LONGER - 1) * plan.deadline_s
    while root is not None and (left_s := patience.left_s(case_of(snapshot, stuck_after_s))) is not None:
        if left_s > (rest_s := end - time.monotonic()):
            return replace(snapshot, gaps=(*snapshot.gaps, _too_far(left_s, rest_s, plan.deadline_s)))
        wait_s = min(_PATIENCE_S, left_s + 0.1)
        progress(f"process {root.pid}, which runs or pauses at one place; {left_s:.0f} s more tell whether for ever")
        again = replace(plan, sweeps=1, interval_s=wait_s, start_s=time.time() + wait_s, deadline_s=wait_s + 10.0,
                        only=MOVES)  # fmt: skip
        snapshot = patience.followed(snapshot, sweep(here, found, again))
    return snapshot


def _too_far(left_s: float, rest_s: float, deadline_s: float) -> Gap:
    detail = (
        f"{left_s:.0f} s more would tell whether it stays where it is, and {max(0.0, rest_s):.0f} s were left for that"
    )
    wanted_s = deadline_s + (left_s - rest_s) / (_LONGER - 1)
    return Gap("looking on", Why.SKIPPED, detail, f"--deadline {math.ceil(wanted_s) + 1}")
