"""A lock on a file that a process has open and asks for again and again is told with its holder."""

from __future__ import annotations

import fcntl
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from harness.waiting import wait_until
from rankscope.model.evidence.blocked import Blocked, HeldLock
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.probe.collector import Target
from rankscope.probe.collectors import blocked, threads

NAPS = "import sys, time; kept = open(sys.argv[1], 'a'); print('there', flush=True); time.sleep(100)"


@pytest.fixture
def napping(tmp_path: pathlib.Path) -> Iterator[int]:
    """A process that has ``index`` open and sleeps."""
    process = subprocess.Popen([sys.executable, "-c", NAPS, str(tmp_path / "index")], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        place = pathlib.Path(f"/proc/{process.pid}/wchan")
        wait_until(lambda: "nanosleep" in place.read_text(), what="it sleeps")
        yield process.pid
    finally:
        process.kill()
        process.wait()


def asked(pid: int) -> list[HeldLock]:
    """What the collectors say of locks that this process asks for."""
    process = Process(ProcessRef("here", pid, 0), Role.RANK)
    found = blocked.collect(Target(process, seen={"threads": threads.collect(Target(process))}))
    return list(found.locks) if isinstance(found, Blocked) else []


@pytest.mark.parametrize(("how", "told"), [(fcntl.LOCK_EX, True), (None, False)])
def test_a_lock_for_writing_by_another_process(
    napping: int, tmp_path: pathlib.Path, how: int | None, told: bool
) -> None:
    with open(tmp_path / "index", "a") as index:
        if how is not None:
            fcntl.lockf(index, how)
        wanted = [HeldLock(napping, "POSIX", str(tmp_path / "index"), (os.getpid(),), holder_name(), asked=True)]
        assert asked(napping) == (wanted if told else [])


def test_a_lock_for_reading_or_of_flock_keeps_nobody_waiting(napping: int, tmp_path: pathlib.Path) -> None:
    """Readers share; flock's locks belong to the open file, which children inherit."""
    with open(tmp_path / "index") as index, open(tmp_path / "index", "a") as again:
        fcntl.lockf(index, fcntl.LOCK_SH)
        fcntl.flock(again, fcntl.LOCK_EX)
        assert asked(napping) == []


def holder_name() -> str:
    return pathlib.Path("/proc/self/comm").read_text().strip()


LEAVES = """
import fcntl, os, subprocess, sys
index = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(index, fcntl.LOCK_EX)
keeper = subprocess.Popen(["sleep", "100"], pass_fds=[index], stdout=-3, stderr=-3)
print(keeper.pid, flush=True)
"""
CLOSES = LEAVES + "os.close(index)\nos.close(1)\nimport time\ntime.sleep(100)\n"
WAITS = "import fcntl, sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX)"


def test_a_flock_is_held_by_who_inherited_its_file(tmp_path: pathlib.Path) -> None:
    """/proc/locks goes on to name the process that took it, also after its end."""
    took = subprocess.run(
        [sys.executable, "-c", LEAVES, str(tmp_path / "index")], capture_output=True, text=True, check=True
    )
    keeper = int(took.stdout)
    waiter = subprocess.Popen([sys.executable, "-c", WAITS, str(tmp_path / "index")])
    try:
        place = pathlib.Path(f"/proc/{waiter.pid}/wchan")
        wait_until(lambda: "lock" in place.read_text(), what="it waits for the lock")
        (lock,) = asked(waiter.pid)
        assert (lock.kind, lock.holders, lock.holder_name, lock.asked) == ("FLOCK", (keeper,), "sleep", False)
    finally:
        os.kill(keeper, signal.SIGKILL)
        waiter.kill()
        waiter.wait()


def test_a_flock_that_its_taker_has_closed_is_held_by_who_inherited_it(tmp_path: pathlib.Path) -> None:
    """The taker lives on without the file: it waits for nothing of that lock, and keeps nobody waiting."""
    taker = subprocess.Popen([sys.executable, "-c", CLOSES, str(tmp_path / "index")], stdout=subprocess.PIPE, text=True)
    said = taker.stdout.read() if taker.stdout else ""
    keeper = int(said)
    waiter = subprocess.Popen([sys.executable, "-c", WAITS, str(tmp_path / "index")])
    try:
        place = pathlib.Path(f"/proc/{waiter.pid}/wchan")
        wait_until(lambda: "lock" in place.read_text(), what="it waits for the lock")
        (lock,) = asked(waiter.pid)
        assert (lock.holders, lock.holder_name) == ((keeper,), "sleep")
    finally:
        os.kill(keeper, signal.SIGKILL)
        for one in (waiter, taker):
            one.kill()
            one.wait()
