"""Who has taken a lock of multiprocessing is read from the counts of those who share it, in real families of processes."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.waiting import wait_until
from rankscope.memory import maps, semaphores
from rankscope.memory.source import ProcessMemory
from rankscope.model.evidence.blocked import Blocked, BlockedCall
from rankscope.model.evidence.shared_locks import SharedLock
from rankscope.model.evidence.threads import Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.probe import procfs
from rankscope.probe.collector import Target
from rankscope.probe.collectors import shared_locks

# What the families have in common: the first argument is how children are started; their pids are said in one line.
PROGRAM = """
import ctypes, json, mmap, multiprocessing, os, signal, sys

def keep(gate, taken):
    gate.acquire()
    taken.set()
    signal.pause()

def ask(gate):
    gate.acquire()

def give_back(gate, given):
    gate.release()
    given.set()
    signal.pause()

class Mutex:
    def __init__(self):
        self.memory, self.libc = mmap.mmap(-1, mmap.PAGESIZE), ctypes.CDLL(None)
        shared = ctypes.create_string_buffer(64)
        self.libc.pthread_mutexattr_init(shared)
        self.libc.pthread_mutexattr_setpshared(shared, 1)
        self.libc.pthread_mutex_init(self.place(), shared)
    def place(self):
        return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(self.memory)))
    def acquire(self):
        self.libc.pthread_mutex_lock(self.place())

def child(task, *args):
    made = context.Process(target=task, args=args, daemon=True)
    made.start()
    return made

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    gate, word, pids = context.Lock(), context.Event(), {}
"""
KEPT = """
    pids["keeper"] = child(keep, gate, word).pid
    word.wait()
    pids["asker"] = child(ask, gate).pid
"""
KILLED = """
    keeper = child(keep, gate, word)
    word.wait()
    keeper.kill()
    keeper.join()
    pids["keeper"], pids["asker"] = keeper.pid, child(ask, gate).pid
"""
GIVEN = """
    gate.acquire()
    child(give_back, gate, word)
    word.wait()
    gate.acquire()
    pids["asker"] = child(ask, gate).pid
"""
OWN = """
    gate.acquire()
    pids.update(keeper=os.getpid(), asker=child(ask, gate).pid, other=child(ask, gate).pid)
"""
FULL = """
    pids["asker"] = child(ask, context.Semaphore(0)).pid
"""


@contextlib.contextmanager
def family(tmp_path: Path, body: str, start: str = "fork") -> Iterator[dict[str, int]]:
    """A program that starts children, and their pids by what they do."""
    program = tmp_path / "family.py"
    program.write_text(f"{PROGRAM}{body}    print(json.dumps(pids), flush=True)\n    sys.stdin.read()\n")
    parent = subprocess.Popen([sys.executable, str(program), start], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert parent.stdout
    try:
        yield json.loads(parent.stdout.readline())
    finally:
        parent.communicate(b"")


def futex_of(pid: int) -> int:
    """The word of memory that processes share on which the main thread of one sleeps, 0 where it does not."""
    with open(f"/proc/{pid}/syscall") as file:
        number, *rest = file.read().split()
    asleep = number in ("202", "98") and not int(rest[1], 16) & 0x80  # x86_64, aarch64; FUTEX_PRIVATE_FLAG
    return int(rest[0], 16) if asleep else 0


def look(pid: int, shelf: dict[str, object] | None = None, timed: bool = False) -> list[SharedLock]:
    """What is told of a process that waits, once it does."""
    word = wait_until(lambda: futex_of(pid), what="the wait")
    seen = {
        "blocked": Blocked((BlockedCall(pid, "futex", address=word, shared=True, timed=timed),)),
        "threads": Threads(()),
    }
    found = shared_locks.collect(
        Target(Process(ProcessRef("n1", pid, 1), Role.OTHER), seen=seen, shelf={} if shelf is None else shelf)
    )
    return list(found.locks) if found is not None else []


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_the_process_that_took_it_is_named(start: str, tmp_path: Path) -> None:
    with family(tmp_path, KEPT, start) as pids:
        (lock,) = look(pids["asker"])
    assert (lock.tid, lock.holders, lock.sharers, lock.all_told) == (pids["asker"], (pids["keeper"],), 3, True)


def test_a_killed_process_leaves_it_to_nobody(tmp_path: Path) -> None:
    with family(tmp_path, KILLED) as pids:
        (lock,) = look(pids["asker"])
    assert (lock.holders, lock.sharers, lock.all_told, lock.owner) == ((), 2, True, 0)


@pytest.mark.parametrize(("who", "told"), [("keeper", False), ("parent", False), ("above", False), ("far above", True)])
def test_only_a_relative_may_share_what_cannot_be_seen(
    who: str, told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who started a family may have what it has, but not whose child started it and has nothing: the first process of a session
    is often hidden."""
    with family(tmp_path, KEPT) as pids:
        parent = procfs.stat("/proc", pids["keeper"]).parent
        hidden = {**pids, "parent": parent, "above": os.getpid(), "far above": os.getppid()}[who]
        mapped = shared_locks._mapped

        def refuse(proc: str, pid: int) -> tuple[maps.Mapping, ...]:
            if pid == hidden:
                raise PermissionError(pid)
            return mapped(proc, pid)

        monkeypatch.setattr(shared_locks, "_mapped", refuse)
        (lock,) = look(pids["asker"])
    assert (lock.holders, lock.all_told) == (() if who == "keeper" else (pids["keeper"],), told)


def test_who_gives_back_what_another_one_took_makes_it_unclear(tmp_path: Path) -> None:
    """The one that gave it back counts less than nothing, and might take it again without counting more than that."""
    with family(tmp_path, GIVEN) as pids:
        (lock,) = look(pids["asker"])
    assert (lock.holders, lock.sharers, lock.all_told) == ((), 3, False)


def test_room_for_several_is_no_lock(tmp_path: Path) -> None:
    with family(tmp_path, FULL) as pids:
        assert look(pids["asker"]) == []


def test_neighbours_are_told_the_same_without_another_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf: dict[str, object] = {}
    with family(tmp_path, OWN) as pids:
        (one,) = look(pids["asker"], shelf)
        monkeypatch.setattr(shared_locks, "_sharers", lambda *_: pytest.fail("the host is looked through once"))
        (other,) = look(pids["other"], shelf)
    assert (one.inode, one.holders) == (other.inode, other.holders)
    assert one.holders == (pids["keeper"],)


def test_who_has_a_time_limit_is_not_asked_about(tmp_path: Path) -> None:
    with family(tmp_path, OWN) as pids:
        assert look(pids["asker"], timed=True) == []


@pytest.mark.parametrize(("body", "told"), [(KILLED, True), (KEPT, False)])
def test_a_mutex_names_its_owner_who_may_have_ended(body: str, told: bool, tmp_path: Path) -> None:
    """Of one that lives, the record of system calls tells (blocked)."""
    with family(tmp_path, f"    gate = Mutex()\n{body}") as pids:
        found = look(pids["asker"])
    assert [(one.owner, one.holders, one.all_told) for one in found] == ([(pids["keeper"], (), True)] if told else [])


def test_a_handle_that_no_object_has_is_not_found() -> None:
    gate = multiprocessing.get_context("fork").Lock()
    mappings = tuple(maps.parse(maps.read("/proc", os.getpid())))
    mine = tuple(one for one in mappings if one.start <= id(gate._semlock) < one.end)
    with ProcessMemory("/proc", os.getpid()) as memory:
        found = semaphores.count(memory, lambda: mine, gate._semlock.handle)
        assert found is not None
        assert (found.taken, found.most) == (0, 1)
        assert semaphores.count(memory, lambda: (), gate._semlock.handle, near=[found.address]) == found
        assert semaphores.count(memory, lambda: (), gate._semlock.handle, near=[found.address + 8, 1]) is None
        assert semaphores.count(memory, lambda: (), gate._semlock.handle + 8, near=[found.address]) is None
