"""What a listing beside a stack says of the wait that the stack shows: a compiler at work, a lock file, a bridge."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty, Diagnosis
from rankscope.pipeline import judge


def judged(folder: Path, **texts: str) -> Diagnosis:
    """What is said of these files."""
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return judge(gather([folder]))


BATON = (
    'Thread 5102 (idle): "MainThread"\n    wait (torch/utils/file_baton.py:42)\n'
    "    _jit_compile (torch/utils/cpp_extension.py:1716)\n    load (torch/utils/cpp_extension.py:1308)\n    main (train.py:9)\n"
)
BUILDS = (
    'Thread 5101 (idle): "MainThread"\n    communicate (subprocess.py:1141)\n    run (subprocess.py:505)\n'
    "    _run_ninja_build (torch/utils/cpp_extension.py:2104)\n    main (train.py:9)\n"
)
COMPILER = "root  5377  0.0  0.0  \\_ ninja -v\nroot  5419 99.8  0.3   \\_ cicc --c++17 -arch compute_90 adam.cu\n"
SLEEPS = "root  5377  0.0  0.0  \\_ sshd: user\nroot  5419 99.8  0.3   \\_ python train.py\n"


@pytest.mark.parametrize(
    ("beside", "stale"),
    [({"ps": COMPILER}, False), ({"py-spy_rank_0": BUILDS}, False), ({"ps": SLEEPS}, True)],
    ids=["a compiler computes", "a rank builds", "nobody builds"],
)
def test_a_lock_file_is_stale_where_nobody_builds(beside: dict[str, str], stale: bool, tmp_path: Path) -> None:
    found = judged(tmp_path, **{"py-spy_rank_1": BATON}, **beside)
    assert ("file-lock-stale" in {one.cls for one in found.findings}) is stale


def test_a_compiler_that_computes_is_slow(tmp_path: Path) -> None:
    assert "only-slow" in {one.rule for one in judged(tmp_path, **{"py-spy_rank_1": BATON}, ps=COMPILER).findings}


CREATES = 'openat(AT_FDCWD, "/hub/.locks/a{}.lock", O_RDWR|O_CREAT|O_EXCL|O_CLOEXEC, 0644) = -1 EEXIST (File exists)\n'
NAPS = "clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, {tv_sec=8, tv_nsec=2}, NULL) = 0\n"


@pytest.mark.parametrize(("second", "cls"), [(1, "file-lock-stale"), (2, None)], ids=["one file", "another file"])
def test_a_file_that_is_tried_to_be_made_again_and_again(second: int, cls: str | None, tmp_path: Path) -> None:
    """A lock file is the lock: who finds it there tries again. A call that returned is no stall."""
    found = judged(tmp_path, strace=f"strace -p 7\n{CREATES.format(1)}{NAPS}{CREATES.format(second)}")
    assert (found.verdict.cls if found.verdict else None) == cls


LOADER = """{at}: Traceback (most recent call last):
{at}:   File "/p/train.py", line 288, in train
{at}:     for i, batch in enumerate(loader):
{at}:   File "/p/torch/utils/data/dataloader.py", line 1491, in _process_data
{at}:     data.reraise()
{at}: {error}: Caught {error} in DataLoader worker process 2.
{at}: Original Traceback (most recent call last):
{at}:   File "/p/data.py", line 61, in __getitem__
{at}:     read(self.index[i])
{at}: {error}: {message}
srun: error: n4: task {at}: Exited with exit code 1
"""
WAITS = 'Thread 9 (active): "MainThread"\n    all_reduce (torch/distributed/distributed_c10d.py:2050)\n    main (train.py:301)\n'


def test_an_error_of_its_own_data_that_came_through_the_loader_ends_the_rank(tmp_path: Path) -> None:
    log = LOADER.format(at=11, error="KeyError", message="'cone '")
    found = judged(tmp_path, slurm=log, rank_10=WAITS)
    assert found.verdict is not None
    assert (found.verdict.cls, found.verdict.certainty) == ("dead-rank", Certainty.LIKELY)


def test_what_a_loader_was_refused_has_a_cause_below(tmp_path: Path) -> None:
    log = LOADER.format(
        at=11, error="RuntimeError", message="unable to open shared memory object: Too many open files (24)"
    )
    found = judged(tmp_path, slurm=log, rank_10=WAITS)
    assert not [one for one in found.findings if one.cls == "dead-rank" and one.certainty is Certainty.LIKELY]


WORKER = """Process 31977: python main.py
Thread 31977 (idle): "MainThread"
    acquire (tqdm/std.py:104)
    __enter__ (tqdm/std.py:113)
    load_manifest (audio/dataset.py:51)
    fetch (torch/utils/data/_utils/fetch.py:51)
    _worker_loop (torch/utils/data/_utils/worker.py:308)
    run (multiprocessing/process.py:108)
    _launch (multiprocessing/popen_fork.py:75)
"""


def test_a_loader_worker_in_the_lock_of_a_progress_bar(tmp_path: Path) -> None:
    found = judged(tmp_path, worker=WORKER)
    assert found.verdict is not None
    assert found.verdict.cls == "fork-with-threads"


ROW = 'SYN-SENT 0 1 10.20.4.11:52210 {}:1025 users:(("python",pid=9944,fd=31))\nESTAB 0 0 10.20.4.11:40022 10.20.4.10:35111\n'


@pytest.mark.parametrize(("peer", "cls"), [("192.168.122.1", "wrong-interface"), ("10.20.4.10", "network-blackhole")])
def test_a_connection_to_an_address_that_every_host_has(peer: str, cls: str, tmp_path: Path) -> None:
    found = judged(tmp_path, ss=ROW.format(peer))
    assert found.verdict is not None
    assert found.verdict.cls == cls


FORKED = "huggingface/tokenizers: The current process just got forked, after parallelism has already been used. Disabling parallelism to avoid deadlocks...\n"  # noqa: E501  (a line of a program)


def test_the_warning_of_tokenizers_alone_is_never_likely(tmp_path: Path) -> None:
    found = judged(tmp_path, main=f'Thread 15 (active+gil): "MainThread"\n    forward (bert.py:4)\n{WAITS}', log=FORKED)
    assert (Certainty.LIKELY, "fork-with-threads") not in {(one.certainty, one.cls) for one in found.findings}
