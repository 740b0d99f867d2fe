"""A soft lock is held as long as its file is there: who polls for one that is older than the run waits for a run that is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Finding
from rankscope.pipeline import case_of
from rankscope.rules.told import lock_file_left_behind

STACK = """Traceback for thread 812 (python) [] (most recent call last):
    (Python) File "/job/prepare.py", line 9, in <module>
        {code}
    (Python) File "/env/lib/python3.11/site-packages/filelock/_api.py", line 376, in __enter__
        self.acquire()
    (Python) File "/env/lib/python3.11/site-packages/filelock/_api.py", line 344, in acquire
        time.sleep(poll_interval)
"""
SOFT, HARD = 'with SoftFileLock(f"{out}.lock"):', 'with FileLock(f"{out}.lock"):'
LOG = "[2025-03-09 10:00:00] start, world size 8\n[2025-03-09 10:00:02] prepare /data/out\n"
OLD = "-rw-r--r-- 1 u u 0 2025-03-06 23:10:44.001 +0100 out.lock\n"
NEW = "-rw-r--r-- 1 u u 0 2025-03-09 10:00:05.001 +0100 out.lock\n"
NO_YEAR = "-rw-r--r--. 1 u u 0 Dec 28 23:10 out.lock\n"


def told(folder: Path, code: str, listing: str, more: str = "") -> list[Finding]:
    (folder / "rank0.txt").write_text(STACK.format(code=code))
    (folder / "log.txt").write_text(LOG)
    (folder / "listing.txt").write_text(f"total 4\n{listing}{more}")
    return list(lock_file_left_behind.check(case_of(gather([folder]))))


@pytest.mark.parametrize(
    ("listing", "certainty"), [(OLD, "LIKELY"), (NO_YEAR, "LIKELY"), (NEW, "POSSIBLE"), ("", "POSSIBLE")]
)
def test_a_soft_lock_that_is_older_than_the_run_was_left_behind(listing: str, certainty: str, tmp_path: Path) -> None:
    (found,) = told(tmp_path, SOFT, listing)
    assert (found.cls, found.certainty.name) == ("file-lock-stale", certainty)


@pytest.mark.parametrize(("code", "count"), [(SOFT, 1), (HARD, 0)])
def test_the_frames_of_filelock_4_are_known(code: str, count: int, tmp_path: Path) -> None:
    """It has its files in folders, and polls in a function of its own."""
    enters, polls = "filelock/_core/_lock.py", "filelock/_core/_acquire.py"
    dump = STACK.replace("filelock/_api.py", enters, 1).replace("filelock/_api.py", polls)
    dump = dump.replace("in acquire", "in _poll_until_acquired")
    (tmp_path / "rank0.txt").write_text(dump.format(code=code))
    assert len(list(lock_file_left_behind.check(case_of(gather([tmp_path]))))) == count


@pytest.mark.parametrize(
    ("code", "more"),
    [(HARD, ""), (SOFT, "out.lock:  u  4411 F.... python\n"), (SOFT, "python 4411 u 5u REG 8,1 0 99 /data/out.lock\n")],
    ids=["a lock of the kernel leaves its file", "fuser shows who has it", "lsof shows who has it"],
)
def test_an_old_file_alone_is_no_lock_left_behind(code: str, more: str, tmp_path: Path) -> None:
    assert not told(tmp_path, code, OLD, more)


SHELL = (
    "$ date; ls -l /data\nSun Mar  9 12:40:11 UTC 2025\ntotal 0\n{listing}$ fuser -v /data/{name}\n{answer}$ uptime\n"
)
MINE, HELD = "-rw-r--r-- 1 u u 0 Mar  6 23:10 out.lock\n", "/data/out.lock: u 4411 F.... python\n"


def asked(folder: Path, listing: str = MINE, name: str = "out.lock", answer: str = "") -> list[Finding]:
    (folder / "rank0.txt").write_text(STACK.format(code="prepare()"))
    (folder / "shell.txt").write_text(SHELL.format(listing=listing, name=name, answer=answer))
    return list(lock_file_left_behind.check(case_of(gather([folder]))))


def test_an_old_lock_file_that_nobody_has_open_was_left_behind(tmp_path: Path) -> None:
    (found,) = asked(tmp_path)
    assert (found.cls, found.certainty.name) == ("file-lock-stale", "LIKELY")


@pytest.mark.parametrize(
    "shell",
    [{"answer": HELD}, {"name": "other.idx"}, {"listing": MINE.replace("Mar  6 23:10", "Mar  9 12:39")}],
    ids=["somebody has it open", "another file is asked for", "it is touched by who asks the kernel for it"],
)
def test_a_lock_file_that_is_new_or_in_use_was_not(shell: dict[str, str], tmp_path: Path) -> None:
    assert not asked(tmp_path, **shell)
