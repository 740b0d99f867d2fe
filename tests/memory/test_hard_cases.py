"""Processes that other tools hang on, fail at, or change: they are read like any other, and stay as they are."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from standing import READY_S, Target, label, pythons, standing

from harness import waiting
from rankscope.memory import process, tasks
from rankscope.model.evidence.stacks import PythonStacks, Trust
from rankscope.model.gap import Gap, Why
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.probe import engines, procfs, sweep
from rankscope.probe.collector import Target as Look
from rankscope.probe.collectors import python_stacks, threads
from rankscope.probe.engine import StackOptions
from rankscope.probe.engines import pyspy, pystack

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def ask(pid: int, engine: str = "memory", options: StackOptions = StackOptions()) -> object:  # noqa: B008
    """What an engine says of a process."""
    return engines.make(engine).stacks(ProcessRef("here", pid), None, None, options)


def functions(answer: object, name: str) -> list[str]:
    """The functions on the stack of the thread with this name."""
    assert isinstance(answer, PythonStacks), answer
    return next([frame.function for frame in thread.stack] for thread in answer.threads if thread.name == name)


def state(pid: int) -> str:
    """The letter of the main thread's state."""
    return tasks.read("/proc", pid)[pid].state


wait_until = functools.partial(waiting.wait_until, within=READY_S)


@contextlib.contextmanager
def running(program: str, *arguments: str, python: str = sys.executable) -> Iterator[subprocess.Popen[str]]:
    """Run a program that says ``ready``, until the block ends."""
    command = [python, "-c", program, *arguments]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        yield child
    finally:
        child.kill()
        child.wait()
        for stream in (child.stdin, child.stdout):
            assert stream is not None
            stream.close()


def test_a_stopped_process_is_read_and_stays_stopped() -> None:
    """Ctrl-Z, SIGSTOP, a full disk quota daemon: state T does not matter to a reader of memory."""
    with standing("plain", "generators") as target:
        os.kill(target.pid, signal.SIGSTOP)
        wait_until(lambda: state(target.pid) == "T")
        assert functions(ask(target.pid), "MainThread")[-2:] == ["plain", "block"]
        assert state(target.pid) == "T"


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_a_traced_process_is_read_while_its_tracer_holds_it() -> None:
    """Under strace or a debugger nobody else may attach; reading memory needs no attaching."""
    with standing("plain") as target:
        tracer = subprocess.Popen(["strace", "-f", "-o", os.devnull, "-p", str(target.pid)], stderr=subprocess.DEVNULL)
        try:
            status = Path(f"/proc/{target.pid}/status")
            wait_until(lambda: f"TracerPid:\t{tracer.pid}\n" in status.read_text())
            assert functions(ask(target.pid), "MainThread")[-2:] == ["plain", "block"]
        finally:
            tracer.send_signal(signal.SIGINT)
            tracer.wait()


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
def test_a_process_in_a_debugger_is_read_while_it_stands_still() -> None:
    """gdb stops all threads (state t); nobody else may attach, and nobody needs to."""
    with standing("plain") as target:
        debugger = subprocess.Popen(
            ["gdb", "-nx", "-q", "-p", str(target.pid)],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            wait_until(lambda: state(target.pid) == "t")
            assert functions(ask(target.pid), "MainThread")[-2:] == ["plain", "block"]
            assert state(target.pid) == "t"
        finally:
            debugger.kill()
            debugger.communicate()


def test_threads_are_read_after_the_main_thread_has_gone() -> None:
    """The process is a zombie by name while its other threads work on; they lead to the memory."""
    program = """
import ctypes, os, threading, time
def stays():
    time.sleep(1000)
threading.Thread(target=stays, name="survivor").start()
os.write(1, b"ready\\n")
ctypes.CDLL(None).pthread_exit(None)
"""
    with running(program) as child:
        wait_until(lambda: state(child.pid) == "Z")
        answer = ask(child.pid)
        assert functions(answer, "survivor")[-1] == "stays"


@pytest.mark.parametrize("python", pythons(), ids=label)
def test_a_process_that_outlives_its_interpreter_is_told_as_such(python: str) -> None:
    """A function registered with the C library runs after Py_FinalizeEx: no list of threads is left to read."""
    program = """
import ctypes
libc = ctypes.CDLL(None)
libc.__cxa_atexit(ctypes.cast(libc.pause, ctypes.c_void_p), None, None)
print("ready", flush=True)
"""
    with running(program, python=python) as child:
        wait_until(lambda: "pause" in Path(f"/proc/{child.pid}/wchan").read_text())
        answer = ask(child.pid)
        assert isinstance(answer, PythonStacks)
        assert (answer.threads, answer.finalizing) == ((), True)


@pytest.mark.parametrize("python", pythons(), ids=label)
def test_a_process_is_read_while_its_interpreter_shuts_down(python: str) -> None:
    """A hang in an exit handler is a hang; the record says that the interpreter is ending."""
    program = """
import atexit, sys, threading, time
class Late:
    def __del__(self, sleep=time.sleep):
        sleep(1000)
sys.late = Late()
print("ready", flush=True)
"""
    with running(program, python=python) as child:
        answer: object = None

        def sleeps_in_finalizer() -> bool:
            nonlocal answer
            answer = ask(child.pid)
            return isinstance(answer, PythonStacks) and any("__del__" in f.function for f in answer.threads[0].stack)

        wait_until(sleeps_in_finalizer)
        assert isinstance(answer, PythonStacks)
        assert answer.finalizing


@contextlib.contextmanager
def writing_in_state_d(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A program with a thread that waits for a vfork child: it cannot be stopped, and what attaches to it hangs."""
    source = folder / "d.c"
    source.write_text("#include <unistd.h>\nvoid stick(void) { if (!vfork()) { pause(); _exit(0); } }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "d.so", source], check=True)
    program = """
import ctypes, sys, threading, time
def write_checkpoint():
    ctypes.CDLL(sys.argv[1]).stick()
threading.Thread(target=write_checkpoint, name="writer", daemon=True).start()
print("ready", flush=True)
time.sleep(1000)
"""
    with running(program, str(folder / "d.so")) as child:
        wait_until(lambda: {task.state for task in tasks.read("/proc", child.pid).values()} == {"D", "S"})
        try:
            yield child
        finally:
            for task in Path(f"/proc/{child.pid}/task").iterdir():
                for stuck in (task / "children").read_text().split():
                    os.kill(int(stuck), signal.SIGKILL)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_thread_in_state_d_is_read_exactly(tmp_path: Path) -> None:
    """Its sisters too; and no engine that would pause it tries to."""
    with writing_in_state_d(tmp_path) as child:
        answer = ask(child.pid)
        assert functions(answer, "writer")[-1] == "write_checkpoint"
        assert isinstance(answer, PythonStacks)
        assert {thread.trust for thread in answer.threads} == {Trust.EXACT}
        for engine in ("py-spy", "pystack"):
            refused = ask(child.pid, engine, StackOptions(native=True))
            assert isinstance(refused, Gap)
            assert refused.why in (Why.SKIPPED, Why.MISSING)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_stop_that_a_helper_left_behind_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread went to state D after we looked; the helper waits for it, is ended, and its SIGSTOP stays pending."""
    attach = """
import ctypes, os, sys, time
for tid in map(int, os.listdir(f"/proc/{sys.argv[1]}/task")):
    if open(f"/proc/{tid}/stat").read().rpartition(")")[2].split()[0] == "D":
        assert ctypes.CDLL(None).ptrace(16, tid, 0, 0) == 0
time.sleep(1000)
"""
    monkeypatch.setattr(pystack, "_SCRIPT", attach)
    monkeypatch.setattr(pystack, "installed", lambda: True)
    monkeypatch.setattr(pyspy, "refusal", lambda *_: "")
    with writing_in_state_d(tmp_path) as child:
        gap = ask(child.pid, "pystack", StackOptions(native=True, deadline_s=1.0))
        assert isinstance(gap, Gap)
        assert gap.why is Why.TIMEOUT
        assert "the process is stopped now" in gap.detail
        assert gap.hint == f"kill -CONT {child.pid}"


def test_a_deleted_interpreter_is_read(tmp_path: Path) -> None:
    """A package upgrade or a removed environment does not take the running program's memory away."""
    single = next((each for each in pythons() if not _shared(each)), None)
    if single is None:
        pytest.skip("every interpreter here is linked against a libpython")
    copy = tmp_path / Path(os.path.realpath(single)).name
    shutil.copy(single, copy)
    home = subprocess.run([single, "-c", "import sys; print(sys.base_prefix)"], capture_output=True, text=True)
    with standing("generators", python=str(copy), environment={"PYTHONHOME": home.stdout.strip()}) as target:
        copy.unlink()
        assert functions(ask(target.pid), "MainThread")[-1] == "block"


@pytest.mark.parametrize("python", pythons(), ids=label)
def test_an_interpreter_without_any_symbol_is_found_by_its_shape(python: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A static build that was stripped names nothing; what its memory looks like is checked against the living threads."""
    from rankscope.memory import runtime

    monkeypatch.setattr(runtime, "_symbols", lambda *_: {})
    with standing("plain", "generators", python=python) as target:
        answer = ask(target.pid)
        assert functions(answer, "MainThread") == ["<module>", "plain", "block"]
        assert isinstance(answer, PythonStacks)
        assert {thread.trust for thread in answer.threads if thread.tid != target.reporter} == {Trust.EXACT}


def _shared(python: str) -> bool:
    code = "print('libpython' in open('/proc/self/maps').read() or 'shims' in __import__('sys').executable)"
    said = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return said.stdout.strip() != "False" or not os.path.realpath(python).rpartition("/")[2].startswith("python")


@ROOT
@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare is not installed")
def test_ids_are_ours_for_a_process_in_a_pid_namespace_of_its_own() -> None:
    """A container counts its threads from 1; the record has the ids that the rest of the evidence has."""
    with standing("plain", "generators", prefix=("unshare", "--pid", "--fork", "--mount-proc")) as target:
        [pid] = _children(target.process.pid)
        answer = ask(pid)
        assert isinstance(answer, PythonStacks), answer
        assert {thread.tid for thread in answer.threads} == {
            int(each.name) for each in Path(f"/proc/{pid}/task").iterdir()
        }
        assert functions(answer, "MainThread")[-2:] == ["plain", "block"]


@ROOT
@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare is not installed")
def test_an_interpreter_whose_files_only_its_container_has_is_read(tmp_path: Path) -> None:
    """In a mount namespace of its own a program runs from files that this host cannot see."""
    single = next((each for each in pythons() if not _shared(each)), None)
    if single is None:
        pytest.skip("every interpreter here is linked against a libpython")
    hidden = tmp_path / Path(os.path.realpath(single)).name
    script = 'mount -t tmpfs none "$1" && cp "$2" "$3" && shift 2 && exec "$@"'
    prefix = ("unshare", "--mount", "sh", "-ec", script, "sh", str(tmp_path), os.path.realpath(single))
    home = subprocess.run([single, "-c", "import sys; print(sys.base_prefix)"], capture_output=True, text=True)
    with standing(
        "generators", python=str(hidden), prefix=prefix, environment={"PYTHONHOME": home.stdout.strip()}
    ) as target:
        assert not hidden.exists()
        assert functions(ask(target.pid), "MainThread")[-1] == "block"


@ROOT
def test_a_process_of_ones_own_is_read_unless_it_refuses() -> None:
    """Without any capability: what ptrace(2) allows; a program that is not dumpable denies it."""
    program = """
import ctypes, sys, os, time
os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
ctypes.CDLL(None).prctl(4, int(sys.argv[1]), 0, 0, 0)
print("ready", flush=True)
time.sleep(1000)
"""
    for dumpable, expected in ((1, "read"), (0, "denied")):
        with running(program, str(dumpable)) as child:
            assert _said_to_user(65534, child.pid) == expected


def _said_to_user(user: int, pid: int) -> str:
    """What a child of ours without capabilities is told of a process."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        gap = ask(pid)
        os.write(writing, gap.why.value.encode() if isinstance(gap, Gap) else b"read")
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with open(reading) as said:
        return said.read()


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_process_that_is_no_python_is_a_gap() -> None:
    """Nothing is guessed about a program that has no interpreter."""
    child = subprocess.Popen(["sleep", "1000"])
    try:
        wait_until(lambda: Path(f"/proc/{child.pid}/comm").read_text() == "sleep\n")
        gap = ask(child.pid)
        assert isinstance(gap, Gap)
        assert gap.why is Why.UNSUPPORTED
    finally:
        child.kill()
        child.wait()


def test_a_process_that_has_ended_is_a_gap() -> None:
    """Whether it is a zombie or reaped, it is gone."""
    child = subprocess.Popen(["true"])
    wait_until(lambda: state(child.pid) == "Z")
    for engine in ("memory", "py-spy", "pystack"):
        gap = ask(child.pid, engine)
        assert isinstance(gap, Gap)
        assert gap.why in (Why.GONE, Why.MISSING)
    child.wait()
    gap = ask(child.pid)
    assert isinstance(gap, Gap)
    assert gap.why is Why.GONE


@ROOT
def test_another_users_process_is_denied_to_an_ordinary_user() -> None:
    """The reason is the kernel's, and the hint says who may."""
    with standing("plain") as target:
        assert _said_to_user(65534, target.pid) == "denied"


def test_a_fork_shares_what_was_learned_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter of a forked worker is not looked for again: it lies where its parent's does."""
    from rankscope.memory import runtime

    looked: list[int] = []
    locate = runtime.locate
    monkeypatch.setattr(runtime, "locate", lambda proc, pid, memory: looked.append(pid) or locate(proc, pid, memory))
    program = """
import os, threading, time
def work():
    time.sleep(1000)
pids = [os.getpid()]
for _ in range(2):
    pids.append(os.fork())
    if not pids[-1]:
        work()
print("ready", flush=True); print(*pids, flush=True)
time.sleep(1000)
"""
    with running(program) as child:
        assert child.stdout is not None
        pids = [int(each) for each in child.stdout.readline().split()]
        try:
            engine = engines.make("memory")
            for pid in pids:
                wait_until(lambda pid=pid: state(pid) == "S")  # type: ignore[misc]
                answer = engine.stacks(ProcessRef("here", pid), None, None, StackOptions())
                assert functions(answer, "MainThread")[0] == "<module>"
            assert looked == pids[:1]
        finally:
            for pid in pids[1:]:
                os.kill(pid, signal.SIGKILL)


def test_a_read_that_never_comes_back_costs_one_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of a process may be on a dead server: the reading child is left behind, the others are read by the next."""
    read = process.read

    def stuck_on_the_first(proc: str, pid: int, *rest: Any) -> process.Seen:
        if pid == first.pid:
            signal.pause()
        return read(proc, pid, *rest)

    hasty = dataclasses.replace(python_stacks.COLLECTOR, deadline_s=0.2)
    monkeypatch.setattr(process, "read", stuck_on_the_first)
    monkeypatch.setattr(sweep, "collectors", lambda _: (hasty,))
    with standing("plain") as first, standing("plain") as second:
        pair = tuple(_member(each.pid) for each in (first, second))
        plan = sweep.Plan(sweeps=1, options=StackOptions(deadline_s=0.2))
        lines = [json.loads(line) for text in sweep.run(plan, pair) for line in text.splitlines()]
        [gap] = [line for line in lines if line["is"] == "gap"]
        assert (gap["why"], gap["process"]["pid"]) == (Why.BLOCKED.value, first.pid)
        [read_of] = [line["process"] for line in lines if line["is"] == "evidence"]
        assert read_of == pair[1].ref.key


def _member(pid: int) -> Process:
    ref = ProcessRef("here", pid, procfs.stat("/proc", pid).started)
    return Process(ref, Role.RANK, comm="python", executable=sys.executable)


@pytest.mark.parametrize("python", pythons(), ids=label)
def test_who_holds_the_lock_is_told(python: str) -> None:
    """A thread that computes without letting go holds the interpreter's lock; of threads that all wait nobody does."""
    program = "import threading, time\nprint('ready', flush=True)\nwhile True: pass\n"
    with running(program, python=python) as child:
        answer: object = None

        def holds() -> bool:
            nonlocal answer
            answer = ask(child.pid)
            return isinstance(answer, PythonStacks) and [thread.holds_gil for thread in answer.threads] == [True]

        wait_until(holds)
    with standing("plain", python=python) as target:
        answer = ask(target.pid)
        assert isinstance(answer, PythonStacks)
        assert not any(thread.holds_gil for thread in answer.threads if thread.tid != target.reporter)


@pytest.mark.parametrize("python", pythons(), ids=label)
def test_who_waits_for_the_lock_is_told(python: str) -> None:
    """C code that sleeps without letting go: it holds the lock, and the other thread waits at a futex inside it."""
    program = """
import ctypes, threading, time
def sleeps():
    ctypes.PyDLL(None).sleep(1000)
print("ready", flush=True)
threading.Thread(target=sleeps, name="sleeper", daemon=True).start()
while True:
    time.sleep(0.01)
"""
    with running(program, python=python) as child:
        member, answer = _member(child.pid), None

        def told() -> bool:
            nonlocal answer
            kernel = threads.COLLECTOR.collect(Look(member))
            answer = engines.make("memory").stacks(member.ref, kernel, None, StackOptions())
            return isinstance(answer, PythonStacks) and answer.gil_waiters == (child.pid,)

        wait_until(told)
        assert isinstance(answer, PythonStacks)
        assert [thread.name for thread in answer.threads if thread.holds_gil] == ["sleeper"]


def test_targets_are_left_as_they_were() -> None:
    """A reading leaves no tracer, no pending signal and no stopped thread behind."""
    with standing("plain") as target:
        before = _status(target)
        ask(target.pid)
        assert _status(target) == before


def _status(target: Target) -> list[str]:
    lines = Path(f"/proc/{target.pid}/status").read_text().splitlines()
    return [line for line in lines if line.startswith(("State", "TracerPid", "SigPnd", "ShdPnd", "Threads", "volun"))]
