"""Ranks that wait for each other at full speed: MPI asks in a loop of its own, and never sleeps.

Such a thread runs all the time, so that the kernel knows no age of its wait. What tells is that look after look finds it in the
same call, with the same values around it, and that it has not gone to sleep by itself in between.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from ..model.evidence.stacks import PythonStacks
from ..model.evidence.threads import Threads
from ..model.process import ProcessRef, Role
from .frame_tables import WaitKind
from .load import watched_s
from .progress import advances
from .standing import Standing

# A loop that meets often is found in the same call by chance; not as often as this.
LOOKS = 4
_MEETS = (WaitKind.COLLECTIVE, WaitKind.P2P, WaitKind.RENDEZVOUS, WaitKind.LOCK)


def spun_s(standing: Standing) -> float | None:
    """For how long every look has found it in one call that waits for others, running; None where one did not."""
    looks = standing.member.over_time(Threads)
    tid = standing.kernel.tid if standing.kernel else 0
    tasks = [next((task for task in one.threads if task.tid == tid), None) for one in looks]
    same = standing.kind in _MEETS and standing.moved is False and standing.ran is True
    if not same or None in tasks or len({task.voluntary for task in tasks if task}) != 1:
        return None
    return watched_s(standing.member)


def aged(standings: Mapping[ProcessRef, Standing]) -> dict[ProcessRef, Standing]:
    """The standings, with the time that was seen of waits that run; a few looks alone may be chance."""
    out = dict(standings)
    for ref, one in standings.items():
        seen = spun_s(one) if len(one.member.over_time(PythonStacks)) >= LOOKS else None
        if seen is not None and (one.still_s is None or seen > one.still_s):
            out[ref] = dataclasses.replace(one, still_s=round(seen, 3))
    return out


def left_s(standings: Iterable[Standing], enough_s: float) -> float | None:
    """How much longer to look until ranks that spin in a call count as stuck there.

    None where none does, or where every rank is in the same call; and where somebody sleeps long enough to tell the age.
    """
    ranks = [one for one in standings if one.member.role is Role.RANK]
    spun = [seen for one in ranks if (seen := spun_s(one)) is not None]
    away = [one for one in ranks if one.kind not in _MEETS]
    if not spun or any(map(advances, away)) or not (away or (len(spun) == len(ranks) and _pass_by(ranks))):
        return None
    if any(one.still_s is not None and one.still_s >= enough_s for one in ranks):
        return None
    looks = min(len(one.member.over_time(PythonStacks)) for one in ranks)
    left = enough_s - max(spun)
    return None if left <= 0 and looks >= LOOKS else max(left, 0.3)


def _pass_by(ranks: list[Standing]) -> bool:
    """Whether ranks that are all in a call cannot meet there: in different collectives, or in messages alone."""
    return (
        all(one.kind is WaitKind.P2P for one in ranks) or len({(one.kind, one.wait.op, one.site) for one in ranks}) > 1
    )
