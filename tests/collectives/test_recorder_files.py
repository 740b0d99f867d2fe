"""Files of recorders: whose they are, of which job, and of which run."""

from __future__ import annotations

import pickle

from rankscope import pipeline
from rankscope.formats import flight_recorder
from rankscope.formats.gather import gather
from rankscope.formats.recorder_files import another_run, of_one_run, ranked

from .test_finished import dump, entries

SECOND = 10**9


def recorder(
    rank: int = 0, calls: int = 7, began_s: int = 0, members: str = "[0, 1, 2, 3]", first: int = 0, last_open=False
):
    """All-reduces of one rank, a second apart."""
    rows = [{**entries()[0], "record_id": n, "collective_seq_id": n + 1, "time_created_ns": (began_s + n) * SECOND + rank + 1}
            for n in range(first, first + calls)]  # fmt: skip
    if last_open:
        rows[-1] = {**rows[-1], "state": "scheduled", "retired": False, "time_discovered_completed_ns": None}
    return {**dump(rows), "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": members}}}


def read(made: dict):
    return flight_recorder.read(pickle.dumps(made, protocol=2), "x_7")


def told(tmp_path, files: dict[str, dict]):
    for name, made in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(pickle.dumps(made, protocol=2))
    return pipeline.judge(gather([tmp_path]))


def hang(culprit: int, **more) -> dict[int, dict]:
    return {rank: recorder(rank, 6 if rank == culprit else 7, last_open=rank != culprit, **more) for rank in range(4)}


def test_files_numbered_from_one_are_counted_from_zero(tmp_path):
    """GIVEN ranks 1 to 4, and lists of members that hold 0 to 3."""
    said = told(tmp_path, {f"trace_rank{rank + 1}.pkl": made for rank, made in hang(2).items()})
    assert list(said.verdict.ranks) == [2]


def test_names_that_fit_stay_as_they_are():
    held = [(f"rank_{rank}", read(recorder(rank))) for rank in (1, 2, 3)]
    assert [one.rank for one in ranked(held)] == [1, 2, 3]
    gloo = [(f"rank_{rank}", read({**recorder(rank), "pg_config": {}})) for rank in (1, 2, 3, 4)]
    assert sorted(one.rank for one in ranked(gloo)) == [1, 2, 3, 4]


def test_the_last_attempt_counts(tmp_path):
    """A job that was started again numbers its operations from 0 again: that is no progress."""
    before = {f"attempt_0/rank_{rank}": recorder(rank, 30) for rank in range(4)}
    now = {f"attempt_1/rank_{rank}": made for rank, made in hang(1, began_s=7200).items()}
    said = told(tmp_path, {**before, **now})
    assert list(said.verdict.ranks) == [1]
    assert any("of an earlier run" in gap.detail for gap in said.gaps)


def test_of_two_jobs_the_larger_is_judged(tmp_path):
    small = {f"jobB_rank_{rank}": recorder(rank, 9, 50, members="[0, 1]") for rank in range(2)}
    said = told(tmp_path, {**small, **{f"jobA_rank_{rank}": made for rank, made in hang(3).items()}})
    assert list(said.verdict.ranks) == [3]
    assert [gap.detail for gap in said.gaps] == ["jobB_rank_#: 2 dumps of another job"]


def test_an_awaited_rank_that_moves_between_two_moments_is_slow(tmp_path):
    before, now = hang(1), hang(1)
    now[1] = recorder(1, 6)
    now[1]["entries"].append(
        {**now[1]["entries"][-1], "record_id": 6, "collective_seq_id": 1, "process_group": ("5", "own")}
    )
    said = told(
        tmp_path,
        {f"{when}/rank_{rank}": made for when, looks in (("a", before), ("b", now)) for rank, made in looks.items()},
    )
    assert (said.state.value, said.verdict.cls, list(said.verdict.ranks)) == ("slow", "straggler-slow-rank", [1])


def test_two_moments_of_one_run_stay_two_moments():
    early, late = read(recorder(0, 5)), read(recorder(0, 9))
    assert not another_run(early, late)
    assert another_run(late, read(recorder(0, 5, began_s=100)))
    assert another_run(early, read(recorder(0, 9, began_s=100)))
    assert not another_run(early, read(recorder(0, 4, first=20)))
    dumped = ranked([("a/rank_0", early), ("b/rank_0", late)])
    assert of_one_run(dumped) == (dumped, [])
