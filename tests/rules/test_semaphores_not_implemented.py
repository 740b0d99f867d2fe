"""A lock that is not implemented: a semaphore of multiprocessing is no file lock."""

from __future__ import annotations

import pathlib

import pytest

from harness.texts import causes

LOCK = """  File "/usr/lib/python3.11/multiprocessing/synchronize.py", line 57, in __init__
    {call}
OSError: [Errno 38] Function not implemented
"""


@pytest.mark.parametrize(("call", "cls", "other"), [
    ("sl = self._semlock = _multiprocessing.SemLock(", "shm-exhausted", "file-lock-unsupported"),
    ("fcntl.flock(lock, fcntl.LOCK_EX)", "file-lock-unsupported", "shm-exhausted"),
])  # fmt: skip
def test_a_lock_that_is_not_implemented(call: str, cls: str, other: str, tmp_path: pathlib.Path) -> None:
    found = causes(tmp_path, console=LOCK.format(call=call))
    assert cls in found
    assert other not in found
