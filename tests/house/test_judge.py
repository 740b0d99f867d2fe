"""One defect of ours never costs what the rest of the judging brings, and is told."""

from __future__ import annotations

from rankscope import pipeline, rules
from rankscope.analysis import verdict
from rankscope.model.gap import Why
from rankscope.model.snapshot import Job, Snapshot
from rankscope.steps.sweeping import Rehearsal


def test_a_rule_that_fails_becomes_a_gap_and_the_others_speak(monkeypatch):
    """GIVEN one rule with a defect, WHEN a snapshot is judged, THEN the defect is told and nothing is raised."""

    def broken(case):
        raise KeyError("nowhere")

    spoken = []

    def sound(case):
        spoken.append(case)
        return iter(())

    pair = (rules.Rule("broken-one", "dead-rank", broken), rules.Rule("sound-one", "dead-rank", sound))
    monkeypatch.setattr(rules, "rules", lambda: pair)
    diagnosis = pipeline.judge(Snapshot(Job("none")))
    assert [(gap.what, gap.why) for gap in diagnosis.gaps] == [("rule broken-one", Why.FAILED)]
    assert len(spoken) == 1


def test_a_rehearsal_that_fails_costs_nothing_and_is_told(monkeypatch):
    """GIVEN an error in judging a few processes, WHEN the look is over, THEN its snapshot says so, and is else as it was."""

    def broken(case, findings):
        raise LookupError("a few are too few")

    seen, rehearsal = Snapshot(Job("none")), Rehearsal()
    monkeypatch.setattr(verdict, "conclude", broken)
    rehearsal(seen)
    told = rehearsal.told(seen)
    assert [(gap.what, gap.why, gap.detail) for gap in told.gaps] == [
        ("rehearsal of the verdict", Why.FAILED, "LookupError: a few are too few")
    ]
    assert not rehearsal.due
    assert Rehearsal().told(seen) is seen
