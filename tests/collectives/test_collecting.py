"""The recorder's collector over several sweeps."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rankscope.model.evidence.recorder import Recorder
from rankscope.model.gap import Gap, Why
from rankscope.model.process import ProcessRef, Role
from rankscope.probe.collectors import recorder as collector

NOTHING_YET = Gap("recorder", Why.MISSING, "no process group was made yet")


@pytest.mark.parametrize("role", [Role.RANK, Role.OTHER])
def test_a_rank_that_makes_its_first_group_between_two_sweeps_is_read_in_the_second(monkeypatch, role):
    """GIVEN a process without a group in the first sweep,
    THEN a rank is asked again, and a helper is not: it will hardly make one."""
    answers = [NOTHING_YET, Recorder(())]
    monkeypatch.setattr(collector, "read_recorder", lambda *_, **__: answers.pop(0))
    monkeypatch.setattr(collector, "_runs_torch", lambda _: True)
    process = SimpleNamespace(ref=ProcessRef("here", 7, 1), role=role)
    target = SimpleNamespace(process=process, proc="/proc", shelf={}, seen={})
    first, second = collector.collect(target), collector.collect(target)
    assert first is None
    assert second == (Recorder(()) if role is Role.RANK else None)
