"""How much longer to look at a lone program that sleeps with a refusal in hand: whether it wakes, and so tries again."""

from __future__ import annotations

from .frame_tables import WaitKind
from .handled import refused
from .load import watched_s
from .standing import Standing


def left_s(standing: Standing, enough_s: float) -> float | None:
    """The seconds until a sleep is too long for a pause between two tries; None where it has woken, or where nothing was
    refused. Two looks may well fall into one pause."""
    watched = watched_s(standing.member)
    if standing.kind is not WaitKind.SLEEP or standing.ran is not False or not refused(standing):
        return None
    return enough_s - watched if watched is not None and watched < enough_s else None
