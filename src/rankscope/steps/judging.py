"""Snapshot → diagnosis: build the case, ask the rules, conclude."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..model.gap import Gap, Why
from ..model.snapshot import Snapshot

if TYPE_CHECKING:
    from ..analysis.case import Case
    from ..model.diagnosis import Diagnosis, Finding


def judge(snapshot: Snapshot, stuck_after_s: float = 30.0) -> Diagnosis:
    """The diagnosis of a snapshot, wherever it came from."""
    from ..analysis.build import build
    from ..analysis.verdict import conclude
    from ..formats.live_log import with_events
    from ..rules import rules

    case = build(with_events(snapshot), stuck_after_s)
    findings: list[Finding] = []
    defects = []
    for rule in rules():
        if any(one.rule in rule.yields_to for one in findings):
            continue
        try:
            findings.extend(rule.check(case))
        except Exception as error:  # one rule's defect must not cost what the others see
            defects.append(defect(f"rule {rule.id}", error))
    diagnosis = conclude(case, findings)
    return replace(diagnosis, gaps=(*diagnosis.gaps, *defects)) if defects else diagnosis


def defect(what: str, error: Exception) -> Gap:
    """What is said of an error of ours that costs only a part of what is learned."""
    return Gap(what, Why.FAILED, f"{type(error).__name__}: {error}"[:200], "please report this")


def case_of(snapshot: Snapshot, stuck_after_s: float = 30.0) -> Case:
    """The case alone, for reports that show stacks."""
    from ..analysis.build import build

    return build(snapshot, stuck_after_s)
