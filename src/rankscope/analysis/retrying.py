"""How much longer to look at a lone program that sleeps with a refusal in hand: whether it wakes, and so tries again."""

from __future__ import annotations

from ..model.evidence.threads import Threads
from .frame_tables import Kind
from .handled import refused
from .standing import Standing


def left_s(standing: Standing, enough_s: float) -> float | None:
    """The seconds until a sleep is too long for a pause between two tries; None where it has woken, or where nothing was
    refused. Two looks may well fall into one pause."""
    times = [one.uptime_s for one in standing.member.over_time(Threads)]
    first, last = (times[0], times[-1]) if times else (None, None)
    if standing.kind is not Kind.SLEEP or standing.ran is not False or not refused(standing):
        return None
    if first is None or last is None or last - first >= enough_s:
        return None
    return enough_s - (last - first)
