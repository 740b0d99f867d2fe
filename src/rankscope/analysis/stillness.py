"""Where a job does not move: who stands, for how long, and whether all of its ranks stand in one call."""

from __future__ import annotations

from collections.abc import Iterable

from .case import Case
from .devices import has_device
from .frame_tables import WaitKind
from .load import transferred, used
from .orders import serves
from .own_age import own_s, youngest_s
from .progress import advances
from .standing import Standing
from .turned import goes_round
from .turns import natives_at_work
from .waits.collective import arrived

# Who runs in these, and shows the same values at all looks, only asks its peers, the store or its device again; with a device
# open so may any line that reads a number from it.
_ASKS = (WaitKind.COLLECTIVE, WaitKind.DEVICE, WaitKind.BACKWARD, WaitKind.RENDEZVOUS, WaitKind.STORE)
_READS = (WaitKind.USER, WaitKind.LIBRARY)
_SOME_BYTES = 1 << 10  # what an idle thread of a library reads or logs meanwhile is less
_TOGETHER = (WaitKind.COLLECTIVE, WaitKind.BACKWARD)


def gets_on(standing: Standing) -> bool:
    """Whether a process was seen to get on, or to run where that may well be work."""
    if standing.moved or standing.helped or advances(standing):
        return True
    asks = standing.kind in _ASKS or (standing.kind in _READS and has_device(standing.member))
    return bool(standing.ran) and not asks


# Who wakes in these by the clock, and sleeps on at the same place with the same values, has seen that it is not yet time.
_NAPS = (WaitKind.SLEEP, WaitKind.CONDITION)
_LITTLE = 0.02  # of a CPU: what one look after another costs


def naps(standing: Standing) -> bool:
    """Whether all that was seen of a process is that one thread woke, and went to sleep again at the same place with the same
    values, but for a count of attempts."""
    same = standing.moved is False or goes_round(standing.looks, len(standing.stack) - 1)
    still = same and not standing.helped and not advances(standing)
    if standing.kind not in _NAPS or not still or standing.busy > _LITTLE:
        return False
    mine = standing.kernel.tid if standing.kernel is not None else standing.member.ref.pid
    return not any(one.wakes_per_s or one.share for one in used(standing.member) if one.task.tid != mine)


def still_ranks(case: Case) -> tuple[Standing, ...]:
    """The living ranks, by number, where none of them was seen to get on; else nobody."""
    ranks = [case.standings[member.ref] for _, member in sorted(case.by_rank.items()) if not member.dead]
    return () if any(map(gets_on, ranks)) else tuple(ranks)


def in_one_call(case: Case) -> tuple[Standing, ...]:
    """All ranks of the job, where they stand in one collective at one place, and neither they nor threads of the library below
    them were seen at work; else nobody.

    Threads that serve a device spin for as long as a call is open, and tell nothing.
    """
    ranks = still_ranks(case)
    if len(ranks) < 2 or len(ranks) != case.world_size or case.collectives or case.comparison.moving:
        return ()
    places = {(one.kind, one.wait.op, one.site) for one in ranks}
    if len(places) != 1 or ranks[0].kind not in _TOGETHER or not all(map(arrived, ranks)):
        return ()
    if any(case.graph.by_waiter.get(one.member.ref) for one in ranks) or any(map(_below_at_work, ranks)):
        return ()
    return ranks


def held_together(case: Case) -> bool:
    """Whether all ranks have stood in one call for so long that it counts as stuck."""
    return case.stuck(youngest_s(in_one_call(case)))


def _below_at_work(standing: Standing) -> bool:
    """Whether threads of native code work for it, or bytes come and go: a transfer that lasts on a slow line."""
    if transferred(standing.member) > _SOME_BYTES:
        return True
    return any(natives_at_work(standing.member)) and not has_device(standing.member)


def longest(standings: Iterable[Standing]) -> Standing | None:
    """Who has stood longest, as far as its own age is known."""
    return max((one for one in standings if own_s(one) is not None), key=lambda one: own_s(one) or 0.0, default=None)


def stand_long(case: Case) -> bool:
    """Whether all ranks that are seen stand, each for long enough to count as stuck, and not as servers without work do."""
    ranks = still_ranks(case)
    long = bool(ranks) and case.stuck(youngest_s(ranks))
    return long and not (
        all(one.kind is WaitKind.IDLE for one in ranks) or any(serves(case, one) for one in case.graph.roots)
    )
