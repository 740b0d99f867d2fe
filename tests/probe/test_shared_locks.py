"""Who has taken a lock of multiprocessing is read from the counts of those who share it, in a real family of processes."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event, Lock

import pytest

from harness.waiting import wait_until
from rankscope.memory import maps, semaphores
from rankscope.memory.source import ProcessMemory
from rankscope.model.evidence.blocked import Blocked, BlockedCall
from rankscope.model.evidence.shared_locks import SharedLock
from rankscope.model.evidence.threads import Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.probe.collector import Target
from rankscope.probe.collectors import shared_locks

STARTS = ("fork", "spawn")


def keep(gate: Lock, taken: Event) -> None:
    gate.acquire()
    taken.set()
    signal.pause()


def ask(gate: Lock) -> None:
    gate.acquire()


def give_back(gate: Lock, given: Event) -> None:
    gate.release()
    given.set()
    signal.pause()


@contextlib.contextmanager
def running(start: str, task: Callable[..., None], *args: object) -> Iterator[BaseProcess]:
    child = multiprocessing.get_context(start).Process(target=task, args=args)  # type: ignore[attr-defined]
    child.start()
    try:
        yield child
    finally:
        child.kill()
        child.join()


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


@pytest.mark.parametrize("start", STARTS)
def test_the_process_that_took_it_is_named(start: str) -> None:
    context = multiprocessing.get_context(start)
    gate, taken = context.Lock(), context.Event()  # type: ignore[attr-defined]
    with running(start, keep, gate, taken) as keeper:
        taken.wait()
        with running(start, ask, gate) as asker:
            (lock,) = look(asker.pid or 0)
    assert (lock.tid, lock.holders, lock.sharers, lock.all_told) == (asker.pid, (keeper.pid,), 3, True)


def test_a_killed_process_leaves_it_to_nobody() -> None:
    context = multiprocessing.get_context("fork")
    gate, taken = context.Lock(), context.Event()
    with running("fork", keep, gate, taken):
        taken.wait()
    with running("fork", ask, gate) as asker:
        (lock,) = look(asker.pid or 0)
    assert (lock.holders, lock.sharers, lock.all_told) == ((), 2, True)


def test_who_gives_back_what_another_one_took_makes_it_unclear() -> None:
    """The one that gave it back counts less than nothing, and might take it again without counting more than that."""
    context = multiprocessing.get_context("fork")
    gate, given = context.Lock(), context.Event()
    gate.acquire()
    with running("fork", give_back, gate, given):
        given.wait()
        gate.acquire()
        with running("fork", ask, gate) as asker:
            (lock,) = look(asker.pid or 0)
    assert (lock.holders, lock.sharers, lock.all_told) == ((), 3, False)


def test_room_for_several_is_no_lock() -> None:
    context = multiprocessing.get_context("fork")
    rooms = context.Semaphore(0)
    with running("fork", ask, rooms) as asker:
        assert look(asker.pid or 0) == []


def test_neighbours_are_told_the_same_without_another_look(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = multiprocessing.get_context("fork").Lock()
    gate.acquire()
    shelf: dict[str, object] = {}
    with running("fork", ask, gate) as first, running("fork", ask, gate) as second:
        (one,) = look(first.pid or 0, shelf)
        monkeypatch.setattr(shared_locks, "_sharers", lambda *_: pytest.fail("the host is looked through once"))
        (other,) = look(second.pid or 0, shelf)
    assert (one.inode, one.holders) == (other.inode, other.holders) == (one.inode, (os.getpid(),))


def test_who_has_a_time_limit_is_not_asked_about() -> None:
    gate = multiprocessing.get_context("fork").Lock()
    gate.acquire()
    with running("fork", ask, gate) as asker:
        assert look(asker.pid or 0, timed=True) == []


def take_mutex(memory: mmap.mmap, taken: Event | None) -> None:
    libc, at = ctypes.CDLL(None), ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    libc.pthread_mutex_lock(at)
    if taken is not None:
        taken.set()
        signal.pause()


@pytest.mark.parametrize("killed", [True, False])
def test_a_mutex_names_its_owner_who_may_have_ended(killed: bool) -> None:
    """Of one that lives, the record of system calls tells (blocked)."""
    libc, memory = ctypes.CDLL(None), mmap.mmap(-1, mmap.PAGESIZE)
    shared = ctypes.create_string_buffer(64)
    libc.pthread_mutexattr_init(shared)
    libc.pthread_mutexattr_setpshared(shared, 1)
    libc.pthread_mutex_init(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory))), shared)
    taken = multiprocessing.get_context("fork").Event()
    with contextlib.ExitStack() as stack:
        owner = stack.enter_context(running("fork", take_mutex, memory, taken))
        taken.wait()
        if killed:
            stack.close()
        with running("fork", take_mutex, memory, None) as asker:
            found = look(asker.pid or 0)
    assert [(one.owner, one.holders, one.all_told) for one in found] == ([(owner.pid, (), True)] if killed else [])


def test_a_handle_that_no_object_has_is_not_found() -> None:
    gate = multiprocessing.get_context("fork").Lock()
    mappings = tuple(maps.parse(maps.read("/proc", os.getpid())))
    with ProcessMemory("/proc", os.getpid()) as memory:
        found = semaphores.count(memory, lambda: mappings, gate._semlock.handle)
        assert found is not None
        assert (found.taken, found.most) == (0, 1)
        assert semaphores.count(memory, lambda: (), gate._semlock.handle, near=[found.address]) == found
        assert semaphores.count(memory, lambda: (), gate._semlock.handle, near=[found.address + 8, 1]) is None
        assert semaphores.count(memory, lambda: (), gate._semlock.handle + 8, near=[found.address]) is None
