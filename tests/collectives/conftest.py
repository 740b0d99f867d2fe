"""Reading a simulated job the way a directory of dumps is read."""

from __future__ import annotations

import pytest

from rankscope.analysis.collectives import CollectiveAnalysis, Facts, find
from rankscope.formats import flight_recorder
from rankscope.model.evidence.recorder import Recorder

from .sim import Job, as_json, pickled


def read(job: Job, json: bool = False) -> dict[int, Recorder]:
    pool = flight_recorder.Pool()
    found = {}
    for rank, dump in job.run().dumps().items():
        recorder = flight_recorder.read(as_json(dump) if json else pickled(dump), pool=pool)
        assert isinstance(recorder, Recorder), recorder
        found[rank] = recorder
    return found


@pytest.fixture
def judge():
    """Run a job, read its dumps, compare them."""

    def judged(job: Job, facts: Facts | None = None, json: bool = False) -> CollectiveAnalysis:
        return find(read(job, json), len(job.programs), facts or Facts())

    return judged
