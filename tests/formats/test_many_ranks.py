"""A line, a heading or a file's name that lists all ranks of the largest job is read; one that lists more is said."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable

import pytest

from harness.counting import grows_evenly
from rankscope.formats import folded, joining, reading
from rankscope.formats.files import Source
from rankscope.formats.gather import gather
from rankscope.formats.records import Dump
from rankscope.model.evidence.recorder import Recorder
from rankscope.model.evidence.stacks import PythonStacks
from rankscope.model.gap import Gap, Why
from rankscope.model.labels import who
from rankscope.model.ranks import MOST_IN_A_JOB
from rankscope.model.snapshot import Snapshot

LINE = "main@a.py:1@0-{last};wait@b.py:2@0-{last}|7 1\n"
STACK = 'Thread 0x7F11 (idle): "MainThread"\n    wait (threading.py:320)\n    train (run.py:41)\n'


def ranks(snapshot: Snapshot) -> list[int | None]:
    return [process.rank for process in snapshot.processes]


def test_a_line_is_one_record_however_many_ranks_it_names() -> None:
    """Nobody copies its stack for each."""
    (dump,) = folded.read(LINE.format(last=99_999))
    assert isinstance(dump, Dump)
    assert str(dump.ranks) == "0-99999"


def test_a_long_list_of_ranks_is_read_to_its_end() -> None:
    """Every other rank of ten thousand takes more than four thousand characters."""
    listed = ",".join(map(str, range(0, 10_000, 2)))
    (dump,) = folded.read(f"main@a.py:1@{listed}|1;wait@b.py:2@{listed}|1 1\n")
    assert isinstance(dump, Dump)
    assert (len(dump.ranks), [frame.function for frame in dump.thread.stack]) == (5000, ["main", "wait"])


@pytest.mark.parametrize("last", [MOST_IN_A_JOB, 99_999_999, "9" * 5000])
def test_a_line_of_more_ranks_than_any_job_has_is_said(last: int | str, tmp_path: pathlib.Path) -> None:
    """The others are read."""
    (tmp_path / "stacks").write_text(LINE.format(last=2) + LINE.format(last=last) * 2)
    snapshot = gather([tmp_path])
    assert ranks(snapshot) == [0, 1, 2]
    (gap,) = snapshot.gaps
    assert (gap.what, gap.why) == ("stacks", Why.SKIPPED)
    assert gap.detail.startswith("2 folded stacks of ranks that no job has")


def test_many_lines_of_many_ranks_are_read_within_bounds(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was left out is said."""
    monkeypatch.setattr(joining, "STACKS_PER_FILE", 10)
    (tmp_path / "stacks").write_text("".join(LINE.format(last=6) for _ in range(3)))
    snapshot = gather([tmp_path])
    records = [item.record for sweep in snapshot.sweeps for item in sweep.items]
    assert sum(len(one.threads) for one in records if isinstance(one, PythonStacks)) == 10
    assert snapshot.gaps == (Gap("stacks", Why.CUT, "11 more stacks of ranks left out"),)


def test_a_heading_and_a_name_of_too_many_ranks_are_said(tmp_path: pathlib.Path) -> None:
    """Their stacks are nobody's."""
    (tmp_path / "below").write_text("Ranks 0-999999:\n" + STACK)
    (tmp_path / "ranks_0-9999999.txt").write_text(STACK)
    snapshot = gather([tmp_path])
    assert ranks(snapshot) == [None, None]
    assert [(gap.what, "as no job has them" in gap.detail) for gap in snapshot.gaps] == [
        ("below", True), ("ranks_0-9999999.txt", True)]  # fmt: skip


def test_a_heading_of_many_ranks_is_of_each(tmp_path: pathlib.Path) -> None:
    """Also of more than four thousand."""
    (tmp_path / "below").write_text("Ranks 0-4999:\n" + STACK)
    assert sorted(rank for rank in ranks(gather([tmp_path])) if rank is not None) == list(range(5000))


def test_many_threads_of_one_process_are_not_held_against_each_other(tmp_path: pathlib.Path) -> None:
    """Which tool showed them is asked once for each."""

    def many(size: int) -> Callable[[], object]:
        path = tmp_path / str(size)
        path.write_text("".join(f'Thread {tid} (idle): "pool"\n    wait (a.py:{tid})\n\n' for tid in range(1, size)))
        read = reading.read(Source(path.name, str(path)), reading.Wish())
        assert isinstance(read, reading.FileEvidence)
        return lambda: joining.Joiner().join([read], [])

    assert grows_evenly(many, 200)


def _dump(rank: int) -> Recorder:
    return Recorder(entries=(), status={}, groups=(), source="dump", rank=rank)


def test_many_recorders_are_not_held_against_each_process() -> None:
    """A job of a hundred thousand ranks has one of each."""

    def many(size: int) -> Callable[[], object]:
        files = [
            reading.FileEvidence(Source(f"dump_{rank}", ""), who(f"dump_{rank}"), recorders=[_dump(rank)])
            for rank in range(size)
        ]
        return lambda: joining.Joiner().join(files, [])

    assert grows_evenly(many, 500)


STACKS = 'Process {pid}: python\n\nThread {pid} (idle): "MainThread"\n    wait (a.py:3)\n'


def test_a_recorder_belongs_to_the_process_of_its_rank_that_shows_stacks(tmp_path: pathlib.Path) -> None:
    """Also where a log of the rank, of which the pid is not known, comes before."""
    (tmp_path / "a_rank_3.log").write_text("ValueError: bad shard\n")
    (tmp_path / "b_rank_3.txt").write_text(STACKS.format(pid=71))
    (tmp_path / "c_rank_3.txt").write_text(STACKS.format(pid=72))
    (tmp_path / "d_rank_3.json").write_text(json.dumps({"version": "2.4", "pg_config": {}, "entries": []}))
    snapshot = gather([tmp_path])
    (item,) = [item for sweep in snapshot.sweeps for item in sweep.items if isinstance(item.record, Recorder)]
    assert item.process is not None
    assert item.process.pid == 71
