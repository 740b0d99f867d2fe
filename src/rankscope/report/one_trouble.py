"""Causes that are one trouble to their reader, though several rules, or one rule of several processes, told of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from ..model.diagnosis import Finding

_NUMBER = re.compile(r"\d+")


def told_once(causes: Iterable[Finding]) -> list[Finding]:
    """Causes in their order; one of a class that is told already and accuses nobody else gives that its reasons."""
    kept: list[Finding] = []
    for cause in causes:
        at = next((number for number, other in enumerate(kept) if _says_it_too(cause, other)), None)
        if at is None:
            kept.append(cause)
        else:
            reasons = dict.fromkeys((*kept[at].because, *cause.because))
            kept[at] = replace(kept[at], because=tuple(reasons))
    return kept


def _says_it_too(cause: Finding, other: Finding) -> bool:
    """Whether a cause is of the class of another one, and names no rank and no process that this does not."""
    if cause.cls != other.cls or cause.collective or other.collective:
        return False
    named = {one.ref for one in other.processes}
    return not set(cause.ranks) - set(other.ranks) and all(one.ref in named for one in cause.processes)


def but_for_numbers(cause: Finding) -> tuple[object, ...]:
    """What two causes have in common that differ in numbers alone: in whom they name, and for how long."""
    texts = (cause.title, *(reason.text for reason in cause.because), *cause.against)
    return (cause.rule, cause.cls, cause.certainty, *(_NUMBER.sub("#", text) for text in texts))
