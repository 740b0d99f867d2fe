"""All members issued the call: whose device began it tells whose did not."""

from __future__ import annotations

import pickle

import pytest

from rankscope import pipeline
from rankscope.formats.gather import gather

from .test_told import ENTRY


def dump(begun: bool, timed: bool = True) -> bytes:
    """Three all-reduces, the last of which is not over."""
    entries = [{**ENTRY, "record_id": n, "collective_seq_id": n + 1, "op_id": n + 1, "state": "completed", "retired": True,
                "time_discovered_started_ns": 8 if timed else None} for n in range(2)]  # fmt: skip
    entries.append({**ENTRY, "record_id": 2, "collective_seq_id": 3, "state": "started" if begun else "scheduled",
                    "time_discovered_started_ns": 9 if begun else None})  # fmt: skip
    group = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}}
    return pickle.dumps({"version": "2.10", "pg_config": group, "entries": entries}, protocol=2)


@pytest.mark.parametrize(
    ("begun", "named"), [((1, 1, 0, 1), [2]), ((1, 1, 1, 1), []), ((0, 0, 0, 0), []), ((1, 0, 0, 0), [])]
)
def test_the_few_whose_device_did_not_begin_are_named(tmp_path, begun, named):
    for rank, one in enumerate(begun):
        (tmp_path / f"rank_{rank}").write_bytes(dump(bool(one)))
    found = pipeline.judge(gather([tmp_path]))
    assert found.verdict is not None
    assert list(found.verdict.ranks) == named
    assert found.verdict.cls == ("gpu-kernel-hang" if named else "stuck-below-program")
    assert found.collectives[0].kind == "stuck_in_flight"


def test_a_rank_whose_recorder_never_times_anything_is_not_named(tmp_path):
    for rank in range(4):
        (tmp_path / f"rank_{rank}").write_bytes(dump(rank != 2, timed=rank != 2))
    found = pipeline.judge(gather([tmp_path]))
    assert list(found.verdict.ranks) == []
