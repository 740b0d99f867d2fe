"""The beat of a job is the usual time between a rank's collectives; one pause alone counts less."""

from __future__ import annotations

import pytest

from rankscope.analysis.case import Member
from rankscope.analysis.rhythm import Rhythm, rhythm
from rankscope.model.evidence.recorder import Recorder, RecorderEntry
from rankscope.model.process import Process, ProcessRef, Role

SECOND = 10**9


def rank(*created_s: float, read_at_s: float = 100.0) -> Member:
    """A rank that issued its collectives at these times."""
    entries = tuple(RecorderEntry(at, "0", "default_pg", at, "all_reduce", created_ns=int(when * SECOND))
                    for at, when in enumerate(created_s, 1))  # fmt: skip
    process = Process(ProcessRef("n1", 70, 1), Role.RANK, rank=0)
    return Member(process, ({Recorder: Recorder(entries, read_at_ns=int(read_at_s * SECOND))},), (True,))


@pytest.mark.parametrize(
    ("created_s", "beat_s"),
    [((60.0, 62.0, 64.0, 94.0), 2.0), ((70.0, 80.0, 90.0), 10.0), ((75.0, 95.0), 4.0)],
)
def test_the_median_pause_or_a_fifth_of_the_only_one(created_s: tuple[float, ...], beat_s: float) -> None:
    """After two calls twenty seconds apart, the second is not late before forty have passed."""
    assert rhythm([rank(*created_s)]) == Rhythm(beat_s, 100.0 - created_s[-1])


def test_one_call_or_an_unknown_time_tells_nothing() -> None:
    assert rhythm([rank(70.0), rank(), rank(70.0, 80.0, read_at_s=0.0)]) is None


def test_the_slowest_beat_and_the_shortest_silence_count() -> None:
    assert rhythm([rank(50.0, 60.0, 70.0), rank(97.0, 98.0, 99.0)]) == Rhythm(10.0, 1.0)
