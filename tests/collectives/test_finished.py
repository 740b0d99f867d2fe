"""Calls that are over and were not the same; operations that were given up and are not over."""

from __future__ import annotations

import pickle

import pytest

from rankscope import pipeline
from rankscope.analysis.collectives import Facts, find
from rankscope.formats import flight_recorder
from rankscope.formats.gather import gather
from rankscope.model.evidence.recorder import Recorder

from .test_told import ENTRY

WORLD = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}}


def entries(**last) -> list[dict]:
    """Six all-reduces that are over, and one as told."""
    ended = {"state": "completed", "retired": True, "time_discovered_completed_ns": 9}
    rows = [{**ENTRY, **ended, "record_id": n, "collective_seq_id": n + 1, "op_id": n + 1} for n in range(7)]
    rows[-1].update(last)
    return rows


def dump(rows: list[dict]) -> dict:
    return {"version": "2.10", "pg_config": WORLD, "pg_status": {}, "entries": rows}


def read(dumps: list[dict]) -> dict[int, Recorder]:
    return {rank: flight_recorder.read(pickle.dumps(one, protocol=2), f"rank_{rank}") for rank, one in enumerate(dumps)}


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"input_dtypes": ["Half"], "output_dtypes": ["Half"]}, "dtype_mismatch"),
        ({"input_sizes": [[2]], "output_sizes": [[2]]}, "size_mismatch"),
        ({"profiling_name": "nccl:broadcast"}, "collective_mismatch"),
    ],
)
def test_a_finished_call_that_differs_is_told_and_nothing_hangs(tmp_path, change, kind):
    dumps = [dump(entries(**(change if rank == 2 else {}))) for rank in range(4)]
    found = find(read(dumps), 4)
    assert (found.hang, found.kind, list(found.culprits), found.differ[0].seq) == (False, kind, [2], 7)
    for rank, one in enumerate(dumps):
        (tmp_path / f"rank_{rank}").write_bytes(pickle.dumps(one, protocol=2))
    said = pipeline.judge(gather([tmp_path]))
    assert (said.verdict.cls, list(said.verdict.ranks), said.verdict.certainty.value) == (
        "collective-mismatch",
        [2],
        "possible",
    )


def test_a_finished_call_that_differs_is_told_of_a_job_that_moves_as_well():
    """It shows at both of two looks, between which each rank ended one call more; nobody waits for anybody at either."""
    jobs = [entries() for _ in range(4)]
    jobs[2][5].update(input_sizes=[[2]], output_sizes=[[2]])
    earlier = read([dump(rows[:-1]) for rows in jobs])
    found = find(read([dump(rows) for rows in jobs]), 4, Facts(earlier=earlier))
    assert (found.moving, found.kind, list(found.culprits)) == (True, "size_mismatch", [2])


def test_finished_calls_with_one_root_or_uneven_parts_are_alike():
    """The root of a gather has an output; the parts of an all_to_all differ, their sum does not."""
    gathers = [
        entries(profiling_name="nccl:gather", output_sizes=[[3]] * 4 if rank == 0 else [[]]) for rank in range(4)
    ]
    assert find(read([dump(rows) for rows in gathers]), 4).kind == "no_hang"
    sizes = [(4, 6), (5, 5), (6, 4), (1, 1)]
    parts = [entries(profiling_name="nccl:all_to_all", input_sizes=[[a]], output_sizes=[[b]]) for a, b in sizes]
    assert find(read([dump(rows) for rows in parts]), 4).kind == "no_hang"


def test_an_operation_that_was_given_up_is_not_over():
    """Retired, and its end was never seen: the watchdog gave it up. Gloo sees no ends, there retired is over."""
    given_up = {"state": "scheduled", "retired": True, "time_discovered_completed_ns": None}
    dumps = [dump(entries(**given_up)) for _ in range(3)] + [dump(entries()[:-1])]
    found = find(read(dumps), 4)
    assert (found.kind, list(found.culprits), found.states[0].seq) == ("missing_rank", [3], 7)
    gloo = [dump([{**row, **given_up, "profiling_name": "gloo:all_reduce"} for row in entries()]) for _ in range(4)]
    assert find(read(gloo), 4).kind == "no_hang"


def test_groups_that_say_nothing_of_their_members_are_compared_by_who_recorded_them():
    rows = [entries(input_dtypes=["Half"] if rank == 1 else ["Float"]) for rank in range(4)]
    found = find({rank: flight_recorder.read(pickle.dumps({**dump(one), "pg_config": {}}, protocol=2), f"rank_{rank}")
                  for rank, one in enumerate(rows)}, 4)  # fmt: skip
    assert (found.kind, list(found.culprits)) == ("dtype_mismatch", [1])
