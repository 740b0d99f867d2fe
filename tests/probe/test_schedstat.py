"""How long a thread had a CPU and how long it waited for one, as the kernel counts it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.probe import procfs
from rankscope.probe.collectors import threads


def test_time_on_a_cpu_and_time_in_the_queue_are_seconds() -> None:
    """The third number, of turns, is not used."""
    assert threads.parse_schedstat(b"1500000000 250000000 17\n") == (1.5, 0.25)


@pytest.mark.parametrize("raw", [b"", b"0 0 0\n", b"7\n", b"x y z\n", b"-1 5 1\n"])
def test_a_kernel_that_does_not_count_tells_nothing(raw: bytes) -> None:
    assert threads.parse_schedstat(raw) == (-1.0, -1.0)


@settings(deadline=None)
@given(st.binary(max_size=128))
def test_any_text_is_read(raw: bytes) -> None:
    """Two numbers, or nothing."""
    ran, delayed = threads.parse_schedstat(raw)
    assert (ran, delayed) == (-1.0, -1.0) or min(ran, delayed) >= 0


def test_a_missing_file_is_no_reason_to_leave_a_thread_out(tmp_path: Path) -> None:
    assert threads._schedstat(str(tmp_path)) == (-1.0, -1.0)


def test_the_kernel_of_this_machine_is_understood() -> None:
    """What it says of ourselves fits what our own clock says."""
    path = f"/proc/self/task/{threading.get_native_id()}"
    if not os.path.exists(f"{path}/schedstat"):
        pytest.skip("this kernel does not count")
    ran, _ = threads.parse_schedstat(procfs.read(f"{path}/schedstat", 128))
    assert ran == -1.0 or ran >= 0.0
