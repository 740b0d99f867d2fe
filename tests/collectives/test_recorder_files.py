"""Files of recorders: whose they are, of which job, and of which run."""

from __future__ import annotations

import pickle

import pytest

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


EMPTIED = {"without entries": {"entries": []}, "without a word": {"entries": [], "pg_status": {}}}


@pytest.mark.parametrize("emptied", EMPTIED.values(), ids=EMPTIED)
def test_rings_without_a_call_tell_nothing(tmp_path, emptied):
    """Whether the job hung nobody knows: its recorders were off, or had been emptied."""
    said = told(tmp_path, {f"rank_{rank}": {**made, **emptied} for rank, made in hang(1).items()})
    assert (said.verdict, said.evidence_weak) == (None, True)
    assert [gap.what for gap in said.gaps] == ["recorder"]


def test_an_empty_ring_beside_full_ones_is_as_good_as_any(tmp_path):
    files = {f"rank_{rank}": recorder(rank) for rank in range(4)}
    files["rank_2"] = {**files["rank_2"], "entries": [], "pg_status": {"0": {"last_enqueued_collective": 7}}}
    said = told(tmp_path, files)
    assert (said.verdict, said.evidence_weak) == (None, False)


def spoilt(change):
    """A dump of which one thing is damaged."""
    return lambda made: pickle.dumps({**made, "entries": [*made["entries"][:-1], change(made["entries"][-1])]})


def with_field(name, value):
    return spoilt(lambda entry: {**entry, name: value})


DAMAGE = {
    "cut off": lambda made: pickle.dumps(made)[:-200],
    "another file": lambda made: bytes(range(256)) * 9,
    "a class": lambda made: b"\x80\x04cos\nsystem\n(S'echo pg_config entries'\ntR.",
    "no list": lambda made: pickle.dumps({**made, "entries": "abc"}),
    "numbers": lambda made: pickle.dumps({**made, "entries": [1, 2, 3]}),
    "nothing": lambda made: pickle.dumps({**made, "entries": [None] * 5}),
    "empty": lambda made: pickle.dumps({**made, "entries": [{}] * 7}),
    "no number": with_field("collective_seq_id", "many"),
    "nan": with_field("collective_seq_id", float("nan")),
    "negative": with_field("collective_seq_id", -5),
    "beyond all": with_field("collective_seq_id", 1 << 62),
    "no state": with_field("state", 3),
    "no name": with_field("profiling_name", None),
    "endless name": with_field("profiling_name", "nccl:" + "A" * 1_000_000),
    "no shape": with_field("input_sizes", "hello"),
    "negative shape": with_field("input_sizes", [[-4]]),
    "no type": with_field("input_dtypes", [4]),
    "no group": with_field("process_group", (b"0", b"default_pg")),
    "no truth": with_field("retired", "maybe"),
}


def damaged(tmp_path, files: dict[int, dict], rank: int, damage):
    for one, made in files.items():
        (tmp_path / f"rank_{one}").write_bytes(damage(made) if one == rank else pickle.dumps(made, protocol=2))
    return pipeline.judge(gather([tmp_path]))


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_rank_whose_dump_cannot_be_read_is_not_accused(tmp_path, damage):
    """It lived long enough to write one; what it did nobody knows."""
    said = damaged(tmp_path, hang(1), 1, damage)
    assert said.gaps
    assert (said.verdict.certainty.value, said.verdict.cls, list(said.verdict.ranks)) == (
        "possible", "collective-missed-by-rank", [],
    )  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damage_of_one_dump_accuses_nobody_else(tmp_path, damage):
    said = damaged(tmp_path, hang(1), 2, damage)
    assert (said.verdict.cls, list(said.verdict.ranks)) == ("collective-missed-by-rank", [1])


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damage_of_a_dump_of_a_healthy_job_accuses_nobody(tmp_path, damage):
    said = damaged(tmp_path, {rank: recorder(rank) for rank in range(4)}, 2, damage)
    assert (said.verdict, said.evidence_weak) == (None, True)


def test_a_dump_that_calls_itself_after_no_member_is_called_after_its_file(tmp_path):
    files = hang(1)
    said = told(
        tmp_path, {f"rank_{rank}": {**made, "rank": 999_999 if rank == 1 else rank} for rank, made in files.items()}
    )
    assert list(said.verdict.ranks) == [1]


@pytest.mark.parametrize("given", [(0,), (0, 2), (2, 3)])
def test_whose_dump_was_not_given_is_not_accused_where_few_were(tmp_path, given):
    """Gloo's list of members has no name, and tells all the same how many ranks there are."""
    nameless = {"pg_config": {"": {"name": "", "desc": "", "ranks": "[0, 1, 2, 3]"}}}
    for config in ({}, nameless):
        folder = tmp_path / str(len(config))
        folder.mkdir()
        said = told(folder, {f"rank_{rank}": {**hang(1)[rank], **config} for rank in given})
        assert (said.verdict.certainty.value, list(said.verdict.ranks)) == ("possible", [])


def test_the_one_whose_dump_is_missing_beside_those_of_all_others_is_named(tmp_path):
    said = told(tmp_path, {f"rank_{rank}": made for rank, made in hang(1).items() if rank != 1})
    assert (said.verdict.cls, list(said.verdict.ranks)) == ("dead-rank", [1])
