"""What people set side by side: releases, values of a setting, who reads a file, which branch was taken."""

from __future__ import annotations

import pathlib

import pytest

from harness.texts import causes


@pytest.mark.parametrize(
    ("old", "new", "sick"),
    [
        ("all 60 tasks every time", "59 results are back, one stays open, the program does not exit", True),
        ("each run: all results each time", "it does not return", True),
        ("all 60 tasks every time", "all 60 tasks every time", False),
    ],
)
def test_releases_of_which_one_gets_there_each_time(tmp_path: pathlib.Path, old: str, new: str, sick: bool) -> None:
    """Nothing but the release is another."""
    texts = {"a": f"with pooler 0.3.0: {old}\n", "b": f"with pooler 0.3.2: {new}\n"}
    assert ("version-bug" in causes(tmp_path, **texts)) is sick


@pytest.mark.parametrize(
    ("text", "slow"),
    [
        ("n_jobs=-1: 28 s, 16 threads\nn_jobs=1: 0.3 s\n", True),
        ("start of the program: about 30 s until the window is there\n", True),
        ("workers = 8: 41 s\nworkers = 2: 12 s\n", True),
        ("workers = 8: 30 s, timed out\nworkers = 2: 12 s\n", False),
        ("30 s until the job is killed\n", False),
    ],
)
def test_what_ends_with_each_value_is_only_slow(tmp_path: pathlib.Path, text: str, slow: bool) -> None:
    """Times are told, and none is a limit."""
    assert ("not-a-hang-slow" in causes(tmp_path, notes=text)) is slow


@pytest.mark.parametrize(
    "who", ["only the master rank reads the file", "only rank 0 opens it", "rank 0 alone reads the file"]
)
def test_a_file_that_one_alone_reads_without_trouble(tmp_path: pathlib.Path, who: str) -> None:
    """The file system does not answer them all."""
    text = f"every rank opens the same HDF5 file, and the run freezes in that I/O\n{who}: no freeze\n"
    assert "filesystem-stall" in causes(tmp_path, notes=text)


def test_a_collective_that_one_alone_enters_is_another_matter(tmp_path: pathlib.Path) -> None:
    """Nothing got better."""
    text = "the file system is fine\nonly rank 0 opens the file, and the job hangs in broadcast\n"
    assert "filesystem-stall" not in causes(tmp_path, notes=text)


@pytest.mark.parametrize("verb", ["did not take the branch", "do not enter that block", "did not go into this"])
def test_a_branch_that_the_others_did_not_take(tmp_path: pathlib.Path, verb: str) -> None:
    """The call stands inside of it."""
    texts = {
        "last": "the last rank waits in a collective of the decoder\n",
        "rest": f"the other ranks {verb} at decode.py:382\n",
    }
    assert "collective-missed-by-rank" in causes(tmp_path, **texts)


LACK = "CUDA Error: out of memory at allocator.cpp:163\n"
READS = "watchdog thread ends with an illegal memory access, process gone\n"


def test_memory_that_was_not_had_is_not_read_by_a_faulty_kernel(tmp_path: pathlib.Path) -> None:
    """What could not be mapped is read nevertheless."""
    assert "cuda-async-error" not in causes(tmp_path, worker=f"{LACK}later in the same process: {READS}")


def test_without_a_lack_of_memory_it_is(tmp_path: pathlib.Path) -> None:
    """A kernel has a bug."""
    assert "cuda-async-error" in causes(tmp_path, worker=f"later in the same process: {READS}")


@pytest.mark.parametrize(
    ("end", "sick"), [("no image, no error", True), ("and no answer came", True), ("no errors", False)]
)
def test_steps_that_are_done_without_what_they_were_for(tmp_path: pathlib.Path, end: str, sick: bool) -> None:
    """A good word about the steps is none about the run."""
    texts = {
        "console": f"all steps finished on every rank, {end}\n",
        "last": "waits in a collective of the decoder\n",
        "others": "the other ranks did not take the branch at decode.py:382\n",
    }
    assert ("collective-missed-by-rank" in causes(tmp_path, **texts)) is sick
