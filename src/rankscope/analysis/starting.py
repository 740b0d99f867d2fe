"""Programs that do nothing but start others, one after the other: a supervisor whose program fails at once looks like this."""

from __future__ import annotations

from ..model.evidence.threads import Threads
from ..model.process import Role
from .case import Case
from .frame_tables import WaitKind
from .load import watched_s
from .pools import renews_workers
from .remembered import remembered
from .standing import Standing
from .threads import may_act_beside
from .turned import goes_round

# Where it starts a program, reads its output, waits for its end, or pauses before the next one.
_STARTS = (
    WaitKind.CHILD,
    WaitKind.SLEEP,
    WaitKind.PIPE,
    WaitKind.SOCKET,
    WaitKind.USER,
    WaitKind.LIBRARY,
    WaitKind.UNKNOWN,
)
_OFTEN = 2  # so many times as many as between the looks must have ended before, since it began
_EVENLY = 4.0  # and not so many times less often


@remembered
def starters(case: Case) -> tuple[Standing, ...]:
    """Of a live job of which no rank lives: whose children have ended since the first look, as they have all the time since it
    began, while its own loops did not get on and no child of it stayed."""
    if not case.snapshot.live or any(not one.dead for one in case.by_rank.values()):
        return ()
    return tuple(one for one in case.standings.values() if _starts(case, one))


def _starts(case: Case, standing: Standing) -> bool:
    member, user = standing.member, standing.wait.user
    looks, watched = member.over_time(Threads), watched_s(member)
    if member.dead or member.role not in (Role.LAUNCHER, Role.OTHER) or standing.thread is None or user < 0:
        return False
    if len(looks) < 2 or not watched or min(one.reaped_faults for one in looks) < 0 or not looks[0].uptime_s:
        return False
    if standing.kind not in _STARTS or renews_workers(member) or may_act_beside(standing):
        return False
    if any(not one.dead and one.role is not Role.HELPER for one in case.children_of(member.ref)):
        return False
    before, since = looks[0].reaped_faults, looks[-1].reaped_faults - looks[0].reaped_faults
    often = since > 0 and before >= _OFTEN * since
    depth = len(standing.stack) - len(standing.own_stack) + user
    return often and before * _EVENLY * watched >= since * looks[0].uptime_s and goes_round(standing.looks, depth)
