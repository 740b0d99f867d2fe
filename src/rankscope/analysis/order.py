"""Findings in the order in which to believe them: by what rules are sure of and, of saved evidence, by what it reads like."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

from ..model.diagnosis import Certainty, Finding, Kind
from .case import Case
from .likeness import likeness, trouble

GUESS = "like-known-cases"  # the rule that speaks where no mechanism was recognised
SLOW = {"not-a-hang-slow", "straggler-slow-rank"}
ORDER = {Certainty.CERTAIN: 0, Certainty.LIKELY: 1, Certainty.POSSIBLE: 2}

# What it is worth, beside likeness, that a rule recognised a mechanism; and what a class counts of which no case is known.
# These and the next were chosen by cases that rules and words had not been made from (docs/adr/0007).
_WORTH = {Certainty.LIKELY: 1.0, Certainty.POSSIBLE: 0.3}
_MANY = 40  # known words; of fewer, likeness says less, and a rule is worth more
_FAR = -1.2

# How much the worst passage must read like trouble for a cause to stand; one that is certain stands anyhow.
_TROUBLE = {Certainty.LIKELY: -0.2, Certainty.POSSIBLE: 0.0}
_WELL = "all of the evidence reads like that of runs in which nothing is wrong"


def in_order(case: Case, findings: Iterable[Finding]) -> list[Finding]:
    """Findings by certainty, then as their rules speak.

    Of saved evidence a cause that is not certain counts as much as its class is near, and something for what its rule is sure
    of; what only reads like known cases counts where nothing better is known. Where all reads well, causes become notes.
    Against what rests on a comparison words say nothing: it stands where all reads well, and nothing is guessed beside it.
    """
    found = sorted(findings, key=lambda finding: ORDER[finding.certainty])
    if case.snapshot.live:
        return found
    alike = likeness(case)
    more = max(1.0, _MANY / (len(alike.words) or 1))
    found = [_heeded(case, one) if one.kind is Kind.CAUSE else one for one in found]

    def place(one: Finding) -> float:
        if one.kind is not Kind.CAUSE or one.certainty is Certainty.CERTAIN:
            return -math.inf
        return -(alike.scores.get(one.cls, _FAR) + (more * _WORTH[one.certainty] if one.rule != GUESS else 0.0))

    found.sort(key=place)
    best = next((one for one in found if one.kind is Kind.CAUSE), None)
    known = any(one.compared if one.kind is Kind.CAUSE else one.kind is Kind.NOTE and one.cls in SLOW for one in found)
    return [one for one in found if one.rule != GUESS or (one is best and not known)]


def _heeded(case: Case, cause: Finding) -> Finding:
    """A cause, or a note of it where the evidence reads like that of healthy runs."""
    if cause.compared or cause.certainty is Certainty.CERTAIN:
        return cause
    if (bad := trouble(case)) is None or bad >= _TROUBLE[cause.certainty]:
        return cause
    return dataclasses.replace(
        cause, kind=Kind.NOTE, certainty=Certainty.POSSIBLE, against=(*cause.against, _WELL), next=()
    )
