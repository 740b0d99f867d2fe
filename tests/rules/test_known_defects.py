"""The table of defects: each row is about a range of releases, and speaks only of those."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty, Finding
from rankscope.pipeline import judge
from rankscope.rules.told._defects import Defect
from rankscope.rules.told._versions import brought, in_range
from rankscope.rules.told.known_defect import DEFECTS


def found(text: str, folder: pathlib.Path) -> list[Finding]:
    (folder / "notes.txt").write_text(text)
    return [one for one in judge(gather([folder])).findings if one.rule == "known-defect"]


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda one: f"{one.library or 'plug-in'}-{one.first}-{one.what[:30]}")
def test_a_row_has_a_range_and_says_what_cures_it(defect: Defect) -> None:
    assert defect.shows
    assert defect.cure
    assert not defect.thread or defect.thread.startswith("https://")
    if defect.library:
        assert in_range(defect.first, defect.first, defect.fixed)
        assert not in_range(defect.fixed, defect.first, defect.fixed)


@pytest.mark.parametrize(
    ("release", "known"), [("2.18.1", False), ("2.19.3", True), ("2.21.5", True), ("2.22.3", False)]
)
def test_only_releases_in_its_range_have_a_defect(release: str, known: bool, tmp_path: pathlib.Path) -> None:
    text = f"NCCL version {release}\nstuck in ncclStrongStreamWaitStream below ncclAllReduce\n"
    assert bool([one for one in found(text, tmp_path) if "captured" in one.title]) is known


def test_what_a_torch_brings_is_only_possible(tmp_path: pathlib.Path) -> None:
    """Somebody may have replaced the NCCL that came with it."""
    told = found("torch==2.3.1\nstuck in ncclStrongStreamWaitStream below ncclAllReduce\n", tmp_path)
    assert [one.certainty for one in told] == [Certainty.POSSIBLE]


def test_a_named_release_outranks_the_one_that_is_brought() -> None:
    assert brought({"torch": ["2.3.1"], "nccl": ["2.22.3"]}) == {}
    assert brought({"torch": ["2.3.1"]}) == {"nccl": ["2.20.5"]}


def test_the_surest_of_several_rows_is_told(tmp_path: pathlib.Path) -> None:
    text = "8x GB200, aarch64, nvidia-nccl-cu13 2.28.9: hangs in ncclLocalOpAppend after minutes\n"
    told = found(text, tmp_path)
    assert [one.certainty for one in told] == [Certainty.LIKELY]


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("libopenblas 0.3.30\nhangs in numpy.linalg.slogdet after os.fork\n", True),
        ("libopenblas 0.3.29\nhangs in numpy.linalg.slogdet after os.fork\n", False),
        ("wandb==0.22.1\n  write (wandb/sdk/lib/console_capture.py:140)\n", True),
        ("wandb==0.22.3\n  write (wandb/sdk/lib/console_capture.py:140)\n", False),
        ("pyarrow 24.0.0\n  ensure_s3_finalized (pyarrow/fs.py:50)\n", True),
        ("pyarrow 23.0.0\n  ensure_s3_finalized (pyarrow/fs.py:50)\n", False),
        ("Driver Version: 465.19.01\ntorch.profiler.profile() hangs at the first step\n", True),
        (
            "Driver Version: 465.19.01\n#1 __pthread_rwlock_wrlock\n#2 _nv0313cupti () from libcupti.so.11\n",
            True,
        ),
        ("Driver Version: 465.19.01\nprofiler: 100 steps written\n", False),
        ("Driver Version: 470.57.02\ntorch.profiler.profile() hangs at the first step\n", False),
    ],
)
def test_a_library_is_blamed_with_its_release(text: str, known: bool, tmp_path: pathlib.Path) -> None:
    assert bool(found(text, tmp_path)) is known


@pytest.mark.parametrize(
    ("version", "there"), [("1.52.0rc1", True), ("1.52.0", True), ("1.51.3", False), ("1.52.1", False)]
)
def test_a_candidate_has_what_its_release_has(version: str, there: bool) -> None:
    assert in_range(version, "1.52.0", "1.52.1") is there


@pytest.mark.parametrize(("release", "sure"), [("", Certainty.LIKELY), ("NCCL version 2.27.3", Certainty.POSSIBLE)])
def test_a_release_without_the_defect_makes_its_signs_only_possible(
    release: str, sure: Certainty, tmp_path: pathlib.Path
) -> None:
    """And says that this release has the mend."""
    text = f"{release}\nall ranks hang\nNCCL WARN Failed to find reverse path from remNode 3 to GPU/1B000\n"
    (made,) = found(text, tmp_path)
    assert made.certainty is sure
    assert any("no longer has the defect" in one for one in made.against) is bool(release)


@pytest.mark.parametrize(
    ("release", "said", "known"),
    [
        ("555.42.06", "wait_for_everyone() does not return", True),
        ("555.42.02", "the first all_reduce hangs", True),
        ("555.58.02", "the first all_reduce hangs", False),
        ("555.42.06", "the loader does not return", False),
        ("555.42.06", "all_reduce took 3 ms", False),
    ],
)
def test_a_driver_with_which_the_first_collective_does_not_end(
    release: str, said: str, known: bool, tmp_path: pathlib.Path
) -> None:
    """Other things show the same signs, so that it is possible at most."""
    text = f"| NVIDIA-SMI {release}     Driver Version: {release}     CUDA Version: 12.5 |\n{said}\n"
    told = [one.certainty for one in found(text, tmp_path) if "first collective" in one.title]
    assert told == ([Certainty.POSSIBLE] if known else [])


NATIVE = "Thread 2:\n#0  0x01 in {top} ()\n#1  0x02 in dump_traceback ()\n#2  0x03 in faulthandler_thread ()\n"


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("faulthandler C thread: in dump_traceback in every sample, the import is not advancing\n", True),
        ("the faulthandler thread is in _Py_DumpTracebackThreads at each look\n", True),
        (NATIVE.format(top="dump_frame") + "\nit hangs\n", True),
        ("faulthandler.dump_traceback_later(60) is armed, it hangs\n", False),
        ("Thread 2:\n#0  0x01 in sem_clockwait ()\n#1  0x02 in faulthandler_thread ()\n\nit hangs\n", False),
    ],
)
def test_a_timer_of_faulthandler_that_never_ends_its_dump(text: str, known: bool, tmp_path: pathlib.Path) -> None:
    """One that waits for its time is in every program that has armed it."""
    assert bool(found(text, tmp_path)) is known
