"""How long somebody has stood as it stands now, by its own account and not by that of those who wait for it.

Who waits has an age, and it says nothing of the one that is waited for: that one may have come to its place only now. So whoever
is accused is judged by its own age, and a circle by that of its youngest member. How long others have waited (``Root.age_s``)
tells that something is late, and since when.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..model.process import ProcessRef
from .callers import call_of
from .case import Case
from .frame_tables import WaitKind
from .progress import advances
from .spinning import spun_s
from .standing import Standing

# In these calls who wakes was woken by its peers. Not so in a meeting: torch's ``_store_based_barrier`` waits for the store ten
# seconds at a time.
_MEETS = (WaitKind.COLLECTIVE, WaitKind.P2P, WaitKind.BACKWARD)
# Naps between two questions.
_NAPS = (WaitKind.SLEEP, WaitKind.FILE_LOCK, WaitKind.FILE_BATON)


def own_s(standing: Standing) -> float | None:
    """How long it has stood like this at least: 0 for one that moved, None where nothing tells."""
    return 0.0 if standing.moved else standing.still_s


def asks_again(standing: Standing) -> bool:
    """Whether it wakes by itself, asks anew and gets no further, so that its wait may be far older than its stillness."""
    if standing.kind in _MEETS:
        return spun_s(standing) is not None
    if advances(standing):
        return False
    call = call_of(standing)
    return standing.kind in _NAPS or (call.timed if call is not None else bool(standing.ran))


def seen_asking_again(standing: Standing) -> bool:
    """Whether it was met at asking anew: a wait with a time limit that has not run out may be its first."""
    return asks_again(standing) and (standing.kind in _NAPS or bool(standing.ran))


def youngest_s(standings: Iterable[Standing]) -> float | None:
    """How long none of them has moved: the own age of the youngest. Those that ask again and again tell nothing; where all
    do, the oldest tells."""
    known = [(age, asks_again(one)) for one in standings if (age := own_s(one)) is not None]
    exact = [age for age, asks in known if not asks]
    return min(exact) if exact else max((age for age, _ in known), default=None)


def circle_s(case: Case, circle: Iterable[ProcessRef]) -> float | None:
    """How long a circle has been closed. Where all its members ask again and again it has no age of its own, and those who
    wait for them from outside of it tell."""
    inside = set(circle)
    members = [case.standings[ref] for ref in inside if ref in case.standings]
    if not all(map(asks_again, members)):
        return youngest_s(members)
    waiters = {wait.waiter for ref in inside for wait in case.graph.to(ref)} - inside
    ages = (own_s(case.standings[ref]) for ref in waiters if ref in case.standings)
    return max((age for age in ages if age is not None), default=None) if waiters else youngest_s(members)
