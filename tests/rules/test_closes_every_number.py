"""Commands that close as many descriptors as a process may have: slow where that is a million, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import case_of
from rankscope.rules.told import disk_full, only_slow, shm_full

STARTS = "$ time python -c \"import subprocess; subprocess.Popen(['true'], close_fds=True)\"\nreal 0m2.914s\n"
COUNTS = "$ strace -f -e close python tool.py 2>&1 | wc -l\n"


@pytest.mark.parametrize(
    ("said", "slow"),
    [
        (STARTS + "$ ulimit -n\n1048576\n", True),
        (STARTS + "$ sysctl kern.maxfilesperproc\nkern.maxfilesperproc: 2829681\n", True),
        (COUNTS + "1048801\n", True),
        ("close(524286) = -1 EBADF (Bad file descriptor)\nclose(524287) = -1 EBADF (Bad file descriptor)\n", True),
        (STARTS + "$ ulimit -n\n1024\n", False),
        (COUNTS + "311\n", False),
        ("OSError: [Errno 24] Too many open files\n" + STARTS + "$ ulimit -n\n1048576\n", False),
    ],
)
def test_a_limit_of_a_million_makes_each_command_slow(said: str, slow: bool, tmp_path: Path) -> None:
    (tmp_path / "shell.txt").write_text(said)
    found = [reason.text for one in only_slow.check(case_of(gather([tmp_path]))) for reason in one.because]
    assert any(text.startswith("each command closes") for text in found) is slow


MADE = """  File "/usr/lib/python3.6/multiprocessing/synchronize.py", line 163, in __init__
    SemLock.__init__(self, SEMAPHORE, 1, 1, ctx=ctx)
  File "/usr/lib/python3.6/multiprocessing/synchronize.py", line 60, in __init__
    unlink_now)
OSError: [Errno 28] No space left on device
"""


def test_a_semaphore_of_multiprocessing_that_finds_no_space_is_of_shared_memory(tmp_path: Path) -> None:
    (tmp_path / "console.txt").write_text("Traceback (most recent call last):\n" + MADE)
    case = case_of(gather([tmp_path]))
    assert list(shm_full.RULE.check(case))
    assert not list(disk_full.RULE.check(case))
