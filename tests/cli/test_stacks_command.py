"""``rankscope stacks`` shows where everybody stands."""

from __future__ import annotations

import pathlib
import subprocess

from conftest_cli import Said, rankscope

from rankscope.formats.pyspy_text import read
from rankscope.formats.records import Dump


def stacks(job: subprocess.Popen[bytes], *options: str) -> Said:
    said = rankscope("stacks", f"pid:{job.pid}", "--color", "never", *options)
    assert said.code == 0, said.err
    return said


def test_ranks_that_went_another_way_are_a_fork_in_the_tree(job: subprocess.Popen[bytes]) -> None:
    """Equal stacks are shown once, with their ranks folded."""
    out = stacks(job).out
    assert "main thread of ranks 0-3" in out
    assert "├─ ranks 0-2: train (train_plain.py:" in out
    assert "└─ rank 3: train (train_plain.py:" in out
    assert "wait_for_shard (train_plain.py:" in out
    assert "asleep" in out


def test_frames_inherited_from_the_parent_are_left_out(job: subprocess.Popen[bytes]) -> None:
    """A forked rank begins where its own life begins, not in the launcher's main."""
    assert "│ python: BaseProcess._bootstrap" in stacks(job).out
    assert "main (train_plain.py" not in stacks(job).out


def test_inside_libraries_frames_are_folded(job: subprocess.Popen[bytes]) -> None:
    """What the interpreter does inside a barrier takes one line."""
    assert "python: Barrier.wait … Condition.wait" in stacks(job).out


def test_only_the_asked_ranks_are_shown(job: subprocess.Popen[bytes]) -> None:
    out = stacks(job, "--ranks", "1,3").out
    assert "main thread of ranks 1,3" in out
    assert "─ rank 1: train" in out
    assert "─ rank 3: train" in out


def test_ranks_that_the_job_has_not_are_an_error(job: subprocess.Popen[bytes]) -> None:
    """It says which there are."""
    said = rankscope("stacks", f"pid:{job.pid}", "--ranks", "17")
    assert said.code == 2
    assert "4 ranks" in said.err


def test_locals_are_compared_over_ranks(job: subprocess.Popen[bytes]) -> None:
    """Equal values once, others with who has them."""
    out = stacks(job, "--locals").out
    assert "step = 12\n" in out
    assert "rank = 0 (rank 0), 1 (rank 1), 2 (rank 2)" in out


def test_strings_are_not_shown_unless_asked_for(job: subprocess.Popen[bytes]) -> None:
    """They may hold secrets."""
    assert "shard-12" not in stacks(job, "--locals").out
    assert "shard-12" in stacks(job, "--locals", "--strings").out


def test_the_source_line_is_shown_where_a_thread_stands(job: subprocess.Popen[bytes]) -> None:
    """The line itself is marked."""
    lines = stacks(job, "--source").out.splitlines()
    marked = [line.split(">", 1)[1].split(None, 1)[1] for line in lines if ">   " in line]
    assert marked == ["barrier.wait()", "time.sleep(0.2)"]


def test_the_launcher_comes_with_the_children(job: subprocess.Popen[bytes]) -> None:
    assert "launcher" not in stacks(job).out
    assert f"main thread of launcher, pid {job.pid}" in stacks(job, "--children").out


def test_raw_dumps_can_be_read_like_any_other_tools(job: subprocess.Popen[bytes]) -> None:
    """One dump per process with its command line, version and executable."""
    out = stacks(job, "--raw").out
    dumps = [record for record in read(out) if isinstance(record, Dump)]
    assert len(dumps) == 4
    assert all(dump.python and dump.python.startswith("3.") for dump in dumps)
    assert all("train_plain" in (dump.command or "") for dump in dumps)
    assert {dump.thread.stack[-1].function for dump in dumps} == {"Condition.wait", "wait_for_shard"}


def test_the_short_way_to_raw_dumps_says_what_the_long_one_says(job: subprocess.Popen[bytes]) -> None:
    """Without options it takes a way that loads less; with one it does not."""
    target = f"pid:{job.pid}"
    for words in (("--raw",), ("--raw", "--children")):
        short, long = rankscope("stacks", target, *words), rankscope("stacks", target, *words, "--engine", "auto")
        assert short == long
        assert short.code == 0


def test_the_short_way_fails_as_the_long_one_does() -> None:
    """No such process, and a process of no job."""
    with subprocess.Popen(["sleep", "60"]) as stranger:
        try:
            for target in ("pid:99999999", f"pid:{stranger.pid}"):
                short, long = (rankscope("stacks", target, "--raw", *more) for more in ((), ("--engine", "auto")))
                assert short == long
                assert short.code == 2
        finally:
            stranger.kill()


def test_dumps_that_somebody_pasted_are_merged_too(job: subprocess.Popen[bytes], tmp_path: pathlib.Path) -> None:
    """A file of raw dumps gives the tree again, ranks included."""
    (tmp_path / "pasted.txt").write_text(stacks(job, "--raw").out)
    said = rankscope("stacks", str(tmp_path / "pasted.txt"))
    assert said.code == 0
    assert "├─ ranks 0-2: train (train_plain.py:" in said.out
    assert "└─ rank 3: train (train_plain.py:" in said.out


def test_a_snapshot_file_shows_what_it_holds(job: subprocess.Popen[bytes], tmp_path: pathlib.Path) -> None:
    """Without source lines: they belong to living processes."""
    kept = tmp_path / "job.snap"
    rankscope("snapshot", f"pid:{job.pid}", "-o", str(kept), "--sweeps", "1")
    said = rankscope("stacks", str(kept))
    assert said.code == 0
    assert "└─ rank 3: train (train_plain.py:" in said.out


def test_native_frames_pause_one_of_each_group_and_say_so(job: subprocess.Popen[bytes]) -> None:
    """Two groups of equal stacks: two processes are named and stopped, four ranks are shown."""
    said = stacks(job, "--native")
    assert said.err.count("pausing ") == 2
    assert "it stands for ranks 0-2" in said.err
    assert "longest pause" in said.out
    assert "├─ ranks 0-2: " in said.out


def test_a_file_with_nothing_in_it_says_why_nothing_fits(tmp_path: pathlib.Path) -> None:
    """A snapshot that broke off after its first line."""
    (tmp_path / "short.snap").write_text(
        '{"is":"snapshot","schema":"rankscope/snapshot","version":1,"job":{"launcher":"x"}}\n'
    )
    said = rankscope("stacks", str(tmp_path / "short.snap"))
    assert said.code == 2
    assert "the job has no process that matches" in said.err
    assert "it breaks off: its last lines are missing" in said.err
    assert "Traceback" not in said.err


def test_saved_dumps_of_a_directory_are_one_tree(tmp_path: pathlib.Path) -> None:
    """A folder of somebody's py-spy dumps is a target like a snapshot."""
    for rank in range(3):
        text = (
            f'Thread 0x7F0 (idle): "MainThread"\n    {"load" if rank == 1 else "reduce"} (train.py:{rank // 2 + 7})\n'
        )
        (tmp_path / f"rank_{rank}.txt").write_text(text)
    said = rankscope("stacks", str(tmp_path))
    assert said.code == 0, said.err
    assert "3 ranks" in said.out
    assert "load" in said.out
