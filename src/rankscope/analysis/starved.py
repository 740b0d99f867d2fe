"""Does a thread that wants the CPU get it? On a crowded machine, or under a quota, one that works mostly stands still."""

from __future__ import annotations

from ..model.evidence.threads import KernelThread, Threads
from .standing import Standing

# Of the CPU that it wanted, a thread got at least this much on any machine that is merely busy.
LEAST = 0.05
_WANTED_S = 0.3  # over less than this the share is chance


def starved(standing: Standing) -> bool:
    """Whether the deciding thread was ready to run at the first and the last look, and had hardly any CPU in between."""
    looks = standing.member.over_time(Threads)
    tid = standing.kernel.tid if standing.kernel else 0
    tasks = [next((task for task in one.threads if task.tid == tid), None) for one in (looks[:1] + looks[-1:])]
    if len(looks) < 2 or any(task is None or task.state != "R" for task in tasks):
        return False
    share = _share(*(task for task in tasks if task is not None))
    return standing.ran is False if share is None else share < LEAST


def _share(first: KernelThread, last: KernelThread) -> float | None:
    """How much of the CPU that it wanted it got; None where the kernel does not tell, or too little was wanted."""
    if min(first.ran_s, first.delayed_s, last.ran_s, last.delayed_s) < 0:
        return None
    ran, delayed = last.ran_s - first.ran_s, last.delayed_s - first.delayed_s
    return ran / (ran + delayed) if ran + delayed >= _WANTED_S else None
