"""Mechanisms that a short text shows from one side, beside look-alikes in which nothing, or something else, is wrong."""

# ruff: noqa: E501  (what a file tells is one line)
from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Finding, Kind
from rankscope.pipeline import judge

PIN = (
    'Exception in thread Thread-9:\nTraceback (most recent call last):\n  File "/usr/lib/python3.9/threading.py", line 973, in _bootstrap_inner\n'
    '    self.run()\n  File "/opt/lib/python3.9/site-packages/torch/utils/data/_utils/pin_memory.py", line 31, in _pin_memory_loop\n'
    "    {line}\n{error}\n"
)
SEMAPHORE = (
    'Traceback (most recent call last):\n  File "/opt/lib/python3.10/site-packages/joblib/externals/loky/backend/synchronize.py", line 69, in __init__\n'
    "    self._semlock = _SemLock(\nOSError: [Errno 28] No space left on device\n"
)
STALL = (
    "[2023-02-01 08:00:00.1: W /tmp/horovod/common/stall_inspector.cc:105] One or more tensors were submitted to be reduced, gathered or "
    "broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds.\n"
)
MMAP = "RuntimeError: unable to mmap 8192 bytes from file </torch_71_38_40123>: Cannot allocate memory (12)\n"

# What a text shows, the rule that names it, the same with one thing changed: then that rule does not.
PAIRS: tuple[tuple[str, str, dict[str, str], dict[str, str]], ...] = (
    (
        "the worker is not in the list of processes, and who asked it waits",
        "helper-gone",
        {"api server": "the thread of the answers is in get() without a limit", "engine process": "not in ps any more; exitcode -9, on another day -6"},
        {"api server": "the thread of the answers is in get() without a limit", "engine process": "in ps, state S, 3 % CPU"},
    ),
    (
        "who crashes as often as it is killed is not short of memory",
        "helper-gone",
        {"parent": "waits in recv()", "child": "no longer in the process list\nreturncode 137 or 139"},
        {"parent": "waits in recv()", "child": "still in the process list\nreturncode of the one before: 0"},
    ),
    (
        "the thread that pins batches fails over what it was given",
        "loader-silent",
        {"console": "epoch 2 starts\n" + PIN.format(line="index, batch = item", error="ValueError: too many values to unpack (expected 2)")},
        {"console": "epoch 2 starts\n" + PIN.format(line="r = in_queue.get(timeout=5)", error="ConnectionResetError: [Errno 104] Connection reset by peer")},
    ),
    (
        "semaphores of loky lie in shared memory",
        "shm-full",
        {"console": SEMAPHORE, "host": "all disks have free space"},
        {"console": SEMAPHORE.replace("_SemLock(", "open('/scratch/run/part-3', 'wb')")},
    ),
    (
        "joblib tries a semaphore when it is imported",
        "shm-full",
        {"console": "joblib/_multiprocessing_helpers.py:53: UserWarning: [Errno 28] No space left on device.  joblib will operate in serial mode\n"},
        {"console": "joblib/_multiprocessing_helpers.py:53: UserWarning: [Errno 38] Function not implemented.  joblib will operate in serial mode\n"},
    ),
    (
        "the loop is blocked by its own watcher's words",
        "loop-held-by-a-step",
        {"bot": "[ERROR] discord.gateway: Shard ID None heartbeat blocked for more than 640 seconds.\nLoop thread traceback (most recent call last):\n"},
        {"bot": "[WARNING] discord.gateway: Shard ID None heartbeat blocked for more than 10 seconds.\n"},
    ),
    (
        "others are still loading while the early ones give up at the store",
        "one-rank-prepares",
        {"ranks that came first": "RuntimeError: [RedisStoreHandler.cpp:80] Wait timeout for name(s): 0_1", "the others": "still reading their share of the corpus"},
        {"ranks that came first": "RuntimeError: [RedisStoreHandler.cpp:80] Wait timeout for name(s): 0_1", "the others": "are not there"},
    ),
    (
        "a stall that nobody says is over",
        "call-missed",
        {"log": STALL, "then": "the ranks never go on"},
        {"log": STALL, "then": "all delayed ops then finished, and the training went on"},
    ),
)  # fmt: skip


def causes(folder: pathlib.Path, files: dict[str, str]) -> dict[str, Finding]:
    """The causes that are named, by rule."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.txt").write_text(text + "\n")
    return {found.rule: found for found in judge(gather([folder])).findings if found.kind is Kind.CAUSE}


@pytest.mark.parametrize(("what", "rule", "sick", "other"), PAIRS, ids=[pair[0] for pair in PAIRS])
def test_a_mechanism_and_its_look_alike(
    what: str, rule: str, sick: dict[str, str], other: dict[str, str], tmp_path: pathlib.Path
) -> None:
    assert rule in causes(tmp_path / "sick", sick), what
    assert rule not in causes(tmp_path / "other", other), what


def test_what_is_refused_names_its_own_reason(tmp_path: pathlib.Path) -> None:
    """That it works without workers says no more than that nothing is handed over then."""
    cured = {"tried": "num_workers=0: works"}
    assert "loader-silent" not in causes(tmp_path / "refused", {"console": MMAP, **cured})
    assert "loader-silent" in causes(tmp_path / "silent", {"console": "step 3, then nothing more", **cured})


def test_an_end_by_either_signal_is_no_shortage_of_memory(tmp_path: pathlib.Path) -> None:
    assert "killed-for-memory" in causes(tmp_path / "killed", {"parent": "waits", "child": "exitcode -9"})
    assert "killed-for-memory" not in causes(tmp_path / "either", {"parent": "waits", "child": "exitcode -9, once -11"})
