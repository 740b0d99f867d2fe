"""A finalizer that waits for a thread below no code of the program: the interpreter takes itself down."""

from __future__ import annotations

import pathlib

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Finding
from rankscope.pipeline import judge

OTHER = """Timeout (0:00:30)!
Thread 0x00007f3a11bfe700 (most recent call first):
  File "/opt/app/cache.py", line 204 in _sweep
  File "/usr/lib/python3.11/threading.py", line 982 in run
  File "/usr/lib/python3.11/threading.py", line 1045 in _bootstrap_inner
  File "/usr/lib/python3.11/threading.py", line 1002 in _bootstrap

"""
JOINS = """Thread 0x00007f3a19d70700 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 1132 in _wait_for_tstate_lock
  File "/usr/lib/python3.11/threading.py", line 1112 in join
  File "/opt/app/cache.py", line 162 in close
  File "/opt/app/cache.py", line 150 in __del__
"""


def ends(folder: pathlib.Path, text: str) -> Finding | None:
    (folder / "dump.txt").write_text(text)
    return next((one for one in judge(gather([folder]), 30.0).findings if one.cls == "exit-hang"), None)


def test_a_finalizer_that_joins_a_thread_at_the_end_is_told(tmp_path: pathlib.Path) -> None:
    """No frame of the program stands below it, and the thread is still there."""
    found = ends(tmp_path, OTHER + JOINS)
    assert found is not None
    assert found.compared


def test_a_finalizer_that_the_program_calls_is_at_work(tmp_path: pathlib.Path) -> None:
    """An object is dropped in the middle of a run."""
    found = ends(tmp_path, OTHER + JOINS + '  File "/opt/app/main.py", line 12 in main\n')
    assert found is None or not found.compared
