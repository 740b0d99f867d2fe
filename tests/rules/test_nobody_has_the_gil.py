"""A lock of the interpreter that is free while threads wait for it: nobody keeps it, a wake-up got lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

WAITS = (
    "(gdb) thread 5\n#0  futex_abstimed_wait_cancelable (private=0)\n#1  __pthread_cond_wait_common (abstime=0x0)\n"
    "#2  take_gil (tstate=0x7f0840001b60) at Python/ceval_gil.h:255\n#3  PyEval_RestoreThread () from libpython3.8.so.1.0\n"
    "#4  pybind11::gil_scoped_acquire::gil_scoped_acquire () from core.so\n(gdb) p _PyRuntime.ceval.gil.locked\n"
)


@pytest.mark.parametrize(("locked", "said"), [(0, False), (1, True)])
def test_a_lock_that_is_free_has_no_holder(locked: int, said: bool, tmp_path: Path) -> None:
    (tmp_path / "gdb.txt").write_text(f"{WAITS}$1 = {{_value = {locked}}}\n")
    assert (
        "gil-deadlock" in {one.cls for one in judge(gather([tmp_path])).findings if one.rule == "gil-waited-for"}
    ) is said
