"""One rule's defect never costs the verdict of the others."""

from __future__ import annotations

from rankscope import pipeline, rules
from rankscope.model.gap import Why
from rankscope.model.snapshot import Job, Snapshot


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
