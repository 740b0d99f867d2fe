"""Causes of saved evidence that are one trouble to its reader, though several rules told of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..model.diagnosis import Finding


def told_once(causes: Iterable[Finding]) -> list[Finding]:
    """Causes in their order, those of one class that accuse the same ranks, or none, as one: the first, with the reasons of the
    others."""
    kept: list[Finding] = []
    for cause in causes:
        at = next((number for number, other in enumerate(kept) if _the_same(other, cause)), None)
        if at is None:
            kept.append(cause)
        else:
            reasons = dict.fromkeys((*kept[at].because, *cause.because))
            kept[at] = replace(kept[at], because=tuple(reasons), ranks=kept[at].ranks | cause.ranks)
    return kept


def _the_same(first: Finding, second: Finding) -> bool:
    if first.cls != second.cls or first.collective or second.collective:
        return False
    return first.ranks == second.ranks or not first.ranks or not second.ranks
