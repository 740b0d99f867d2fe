"""Dumps that torch itself wrote, by format and release; what is odd about them is in their folder's name."""

from __future__ import annotations

import pathlib

import pytest

from rankscope import pipeline
from rankscope.formats import flight_recorder
from rankscope.formats.gather import gather
from rankscope.model.evidence.recorder import Recorder

SAMPLES = pathlib.Path(__file__).parents[1] / "samples" / "flight-recorder"
BEHIND = SAMPLES / "torch-2.13.0" / "gloo-one-rank-behind"


@pytest.mark.parametrize("path", sorted(SAMPLES.rglob("*.pickle")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_pickle_and_json_of_one_process_say_the_same(path):
    twin = path.with_suffix(".jsondump")
    assert flight_recorder.recognises(path.read_bytes()[:8192])
    assert flight_recorder.recognises(twin.read_bytes()[:8192])
    one, other = flight_recorder.read(path.read_bytes()), flight_recorder.read(twin.read_bytes())
    assert isinstance(one, Recorder)
    assert isinstance(other, Recorder)
    assert list(one.entries) == list(other.entries)
    assert (one.status, one.groups, one.version) == (other.status, other.groups, other.version)


def test_the_rank_that_did_not_issue_the_fourth_call_is_named():
    """Torch 2.13 over gloo: three ranks, a subgroup, and rank 1 a call behind; pickles and JSON lie side by side."""
    found = pipeline.judge(gather([BEHIND]))
    assert found.verdict is not None
    assert list(found.verdict.ranks) == [1]
    state = found.collectives[0]
    assert (state.kind, state.op, state.seq, state.ranks) == ("missing_rank", "all_reduce", 4, (0, 1, 2))
    assert list(found.ranks) == [0, 1, 2]
