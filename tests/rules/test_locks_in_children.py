"""Locks below which forked children stand: those of a join of their own thread tell nothing of their parent's."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.analysis import order
from rankscope.formats.gather import gather
from rankscope.pipeline import case_of, judge
from rankscope.rules.told import fork_took_a_lock

CHILD = (
    "Process 4101: python run.py\nPython v3.11.7 (python)\n\n"
    'Thread 4101 (idle): "MainThread"\n'
    "    0x7f11ddc41f16 (libc.so.6)\n"
    "    PyThread_acquire_lock_timed (libpython3.11.so.1.0)\n"
    "    lock_PyThread_acquire_lock (libpython3.11.so.1.0)\n"
    "{frames}"
    "    run (multiprocessing/process.py:108)\n"
    "    _bootstrap (multiprocessing/process.py:314)\n"
    "    _launch (multiprocessing/popen_fork.py:71)\n"
)
JOINS = (
    "    Thread._wait_for_tstate_lock (threading.py:1132)\n    Thread.join (threading.py:1112)\n    flush (work.py:8)\n"
)
WANTS = "    lookup (vocab.py:23)\n    flush (work.py:8)\n"


@pytest.mark.parametrize(("frames", "found"), [(JOINS, 0), (WANTS, 1)], ids=["joins its thread", "wants a lock"])
def test_a_join_of_an_own_thread_is_no_lock_of_the_parent(frames: str, found: int, tmp_path: Path) -> None:
    (tmp_path / "worker.txt").write_text(CHILD.format(frames=frames))
    assert len(list(fork_took_a_lock.check(case_of(gather([tmp_path]))))) == found


END = (
    'Thread 1 (Thread 0x7f4550c06b80 (LWP 4101) "python"):\n'
    "#0  futex_wait (private=0) at futex-internal.c:57\n"
    "#1  0x00007f4550000001 in acquire_timed () from libpython3.11.so.1.0\n"
    "#2  0x00007f4550000002 in atexit_callfuncs () from libpython3.11.so.1.0\n"
    "#3  0x00007f4550000003 in Py_FinalizeEx () from libpython3.11.so.1.0\n"
    "#4  0x00007f4550000004 in main ()\n"
)


def test_who_is_in_the_end_of_its_interpreter_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However well its words read: no running program stands there."""
    monkeypatch.setattr(order, "reads_well", lambda case: True)
    (tmp_path / "rank0.txt").write_text(END)
    found = judge(gather([tmp_path]))
    assert found.verdict is not None
    assert found.verdict.cls == "exit-hang"
