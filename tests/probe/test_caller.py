"""The library from which a sleeping thread called the kernel is read beside it, without a pause."""

from __future__ import annotations

import os
import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.waiting import wait_until
from rankscope.model.evidence.blocked import Blocked, BlockedCall
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.probe.caller import code, library
from rankscope.probe.collector import Target
from rankscope.probe.collectors.blocked import COLLECTOR

LOCKS_ITSELF_OUT = (
    "import threading; gate = threading.Lock(); gate.acquire(); print('there', flush=True); gate.acquire()"
)

OWN = code("/proc", os.getpid())


def test_who_waits_for_a_lock_of_python_was_called_by_the_interpreter() -> None:
    """The call itself is made by the C library."""
    with subprocess.Popen([sys.executable, "-c", LOCKS_ITSELF_OUT], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()
            wait_until(lambda: len(_syscall(child.pid)) == 9, within=5)
            stack, instruction = (int(word, 16) for word in _syscall(child.pid)[7:])
            with open(f"/proc/{child.pid}/mem", "rb") as memory:
                found = library(
                    code("/proc", child.pid), lambda at, size: os.pread(memory.fileno(), size, at), stack, instruction
                )
        finally:
            child.kill()
    assert found.startswith(("python", "libpython"))


@settings(max_examples=50)
@given(st.binary(max_size=900), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_a_stack_of_any_bytes_tells_a_name_or_nothing(raw: bytes, stack: int, instruction: int) -> None:
    assert isinstance(library(OWN, lambda *_: raw, stack, instruction), str)


def test_a_process_that_is_gone_tells_nothing() -> None:
    assert code("/proc", 0) == ()
    assert library((), lambda *_: b"", 0, 0) == ""


def test_who_called_a_lock_is_read_once() -> None:
    """The second look takes over what the first one found, as long as the thread stands in the same lock."""
    with subprocess.Popen([sys.executable, "-c", LOCKS_ITSELF_OUT], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()
            wait_until(lambda: len(_syscall(child.pid)) == 9, within=5)
            number, address = int(_syscall(child.pid)[0]), int(_syscall(child.pid)[1], 16)
            kernel = Threads((KernelThread(child.pid, "python", "S", syscall=(number, address, 0, 0, 0, 0, 0)),))
            earlier = Blocked((BlockedCall(child.pid, "futex", address=address, library="libearlier.so"),))
            process = Process(ProcessRef("here", child.pid), Role.RANK)
            found = COLLECTOR.collect(Target(process, before=earlier, seen={"threads": kernel}))
        finally:
            child.kill()
    assert isinstance(found, Blocked)
    assert found.calls[0].library == "libearlier.so"


IN_A_THREAD = (
    "import threading; gate = threading.Lock(); gate.acquire(); one = threading.Thread(target=gate.acquire); one.start();"
    "print(one.native_id, flush=True); one.join()"
)


def test_a_thread_beside_the_main_one_is_asked_as_well_where_it_bears_its_name() -> None:
    with subprocess.Popen([sys.executable, "-c", IN_A_THREAD], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            tid = int(child.stdout.readline())
            wait_until(lambda: len(_syscall(child.pid, tid)) == 9, within=5)
            number, address = int(_syscall(child.pid, tid)[0]), int(_syscall(child.pid, tid)[1], 16)
            calls = {}
            for name in ("python", "kernels"):
                tasks = (KernelThread(child.pid, "python", "S"),
                         KernelThread(tid, name, "S", syscall=(number, address, 0, 0, 0, 0, 0)))  # fmt: skip
                found = COLLECTOR.collect(
                    Target(Process(ProcessRef("here", child.pid), Role.RANK), seen={"threads": Threads(tasks)})
                )
                assert isinstance(found, Blocked)
                (calls[name],) = found.calls
        finally:
            child.kill()
    assert calls["python"].library.startswith(("python", "libpython"))
    assert calls["kernels"].library == ""


def _syscall(pid: int, tid: int = 0) -> list[str]:
    with open(f"/proc/{pid}/task/{tid or pid}/syscall") as file:
        return file.read().split()
