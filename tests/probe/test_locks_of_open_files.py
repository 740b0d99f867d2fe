"""Locks that belong to an open file name no process: those who wait for one and those who have it are found all the same."""

from __future__ import annotations

import fcntl
import os
import pathlib
import struct
import subprocess
import sys

import pytest

from harness.waiting import wait_until
from rankscope.model.evidence.blocked import Blocked
from rankscope.model.evidence.threads import Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.probe.collector import Target
from rankscope.probe.collectors import blocked, threads

SET = 37  # F_OFD_SETLK (linux/fcntl.h)
WHOLE = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
ASKS = f"import fcntl, sys; fcntl.fcntl(open(sys.argv[1], 'r+'), {SET + 1}, {WHOLE!r})"
KEEPS = f"""
import fcntl, sys
kept = open(sys.argv[1], "r+")
fcntl.fcntl(kept, {SET}, {WHOLE!r})
print("there", flush=True)
sys.stdin.read()
"""


def seen(pid: int, parent: int = 0, proc: str = "/proc") -> Blocked | None:
    """What the collectors say of the calls and locks of a process."""
    process = Process(ProcessRef("here", pid, 0), Role.RANK, parent=parent)
    return blocked.collect(Target(process, proc, seen={"threads": threads.collect(Target(process, proc))}))


def test_the_holder_of_a_lock_of_an_open_file_is_told(tmp_path: pathlib.Path) -> None:
    """/proc/locks shows -1 in place of both pids."""
    path = tmp_path / "index"
    path.touch()
    holder = subprocess.Popen([sys.executable, "-c", KEEPS, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    asker = subprocess.Popen([sys.executable, "-c", ASKS, str(path)])
    try:
        wait_until(lambda: "lk" in pathlib.Path(f"/proc/{asker.pid}/wchan").read_text(), what="it waits for the lock")
        found = seen(asker.pid)
        assert found is not None
        assert [(lock.kind, lock.path, lock.holders) for lock in found.locks] == [("OFDLCK", str(path), (holder.pid,))]
        assert not (other := seen(holder.pid)) or not other.locks
    finally:
        for process in (asker, holder):
            process.kill()
            process.wait()


IN_A_CONTAINER = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
TAKES = "import fcntl, sys; fcntl.flock(open(sys.argv[1], 'a'), fcntl.LOCK_EX)"


@pytest.mark.skipif(os.geteuid() != 0, reason="a pid namespace needs root")
def test_a_lock_that_somebody_outside_the_container_holds_is_told_without_a_holder(tmp_path: pathlib.Path) -> None:
    """The list of locks that such a process sees has neither the holder nor who waits for it."""
    with open(tmp_path / "index", "a") as index:
        fcntl.flock(index, fcntl.LOCK_EX)
        outer = subprocess.Popen([*IN_A_CONTAINER, sys.executable, "-c", TAKES, str(tmp_path / "index")])
        children = pathlib.Path(f"/proc/{outer.pid}/task/{outer.pid}/children")
        try:
            wait_until(lambda: children.read_text().split(), what="it is started")
            inner = pathlib.Path("/proc") / children.read_text().split()[0]
            wait_until(lambda: "lock" in (inner / "wchan").read_text(), what="it waits for the lock")
            found = seen(1, proc=f"{inner}/root/proc")
            assert found is not None
            assert [(lock.kind, lock.path, lock.holders) for lock in found.locks] == [("FLOCK", index.name, ())]
        finally:
            outer.kill()
            outer.wait()


@pytest.mark.parametrize(("owner", "told"), [("self", True), ("init", False)])
def test_the_owner_of_a_mutex_is_a_thread_of_the_process_or_its_parent(owner: str, told: bool) -> None:
    """What looks like a mutex may be another word of memory: pid 1 lives everywhere, and holds no lock of ours."""
    code = (
        "import ctypes, sys\n"
        "word = ctypes.create_string_buffer(64); import struct, os\n"
        "base = (ctypes.addressof(word) + 7) // 8 * 8\n"
        "raw = struct.pack('<iIi', 2, 0, os.getpid() if sys.argv[1] == 'self' else 1)\n"
        "ctypes.memmove(base, raw, 12)\n"
        "ctypes.CDLL(None).syscall(202 if os.uname().machine == 'x86_64' else 98, ctypes.c_void_p(base), 128, 2, None, None, 0)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, owner])
    try:
        wait_until(lambda: "futex" in pathlib.Path(f"/proc/{process.pid}/wchan").read_text(), what="it sleeps")
        found = seen(process.pid, os.getpid())
        assert found is not None
        assert [call.owner for call in found.calls] == [process.pid if told else 0]
    finally:
        process.kill()
        process.wait()


def test_a_process_that_was_forked_says_so() -> None:
    """The kernel keeps it until exec (PF_FORKNOEXEC)."""
    child = os.fork()
    if child == 0:
        import time

        time.sleep(100)
        os._exit(0)
    other = subprocess.Popen(
        [sys.executable, "-c", "import time; print('', flush=True); time.sleep(100)"], stdout=subprocess.PIPE
    )
    assert other.stdout is not None
    other.stdout.readline()
    try:
        assert [flag(pid) for pid in (child, other.pid)] == [True, False]
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        other.kill()
        other.wait()


def flag(pid: int) -> bool:
    found = threads.collect(Target(Process(ProcessRef("here", pid, 0), Role.OTHER)))
    assert isinstance(found, Threads)
    return found.forked
