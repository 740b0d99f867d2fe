"""One defect of ours never costs what the rest of the judging brings, and is told."""

from __future__ import annotations

import pytest

from rankscope import pipeline, rules
from rankscope.analysis import verdict
from rankscope.model import wire
from rankscope.model.gap import Why
from rankscope.model.snapshot import Host, Job, Snapshot
from rankscope.probe.discover import Found
from rankscope.probe.sweep import Plan
from rankscope.steps import sweeping
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


@pytest.mark.parametrize(("sweeps", "pauses", "loads"), [(2, False, 1), (2, True, 0), (1, False, 1), (1, True, 1)])
def test_what_judges_is_loaded_once_whether_or_not_anybody_sleeps(monkeypatch, sweeps, pauses, loads):
    """GIVEN looks with or without a pause between them, WHEN they are taken, THEN a rehearsal in the pause loads what judges;
    where there is none it is loaded beside the second look, or beside the only one."""

    def run(plan, processes, idle, meanwhile):
        meanwhile()
        for sweep in range(plan.sweeps):
            lines = []
            wire.Writer(lines.append).sweep(sweep, float(sweep))
            yield "".join(lines)
            if pauses:
                idle()

    loaded = []
    monkeypatch.setattr(sweeping, "run", run)
    monkeypatch.setattr(sweeping, "make_ready_to_judge", lambda: loaded.append(True))
    seen = sweeping.sweep(Host("node1"), Found(Job("test"), ()), Plan(sweeps), judged=True)
    assert len(seen.sweeps) == sweeps
    assert len(loaded) == loads
