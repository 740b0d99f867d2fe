"""Processes that are no part of the job: who stands at the other end of a pipe or connection, and who is left to write."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys

import pytest
from test_one_machine import MAIN, STEP, One, body, causes, told

from harness.waiting import wait_until
from rankscope.model.diagnosis import Certainty, Diagnosis, Finding, Kind
from rankscope.model.evidence.blocked import Blocked, BlockedCall, HeldLock
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.outsiders import Outsider, Outsiders
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import judge
from rankscope.probe.collector import Target
from rankscope.probe.collectors.outsiders import collect

REF = ProcessRef("n1", 70, 1)
READS = Stack([Frame("main", "/job/run.py", 9)])
TAKES = Stack([*READS, Frame("get", "/usr/lib/python3.11/multiprocessing/queues.py", 102),
               Frame("_recv", "/usr/lib/python3.11/multiprocessing/connection.py", 378)])  # fmt: skip


def reader(stack: Stack, *more: object, ends: str = "r", still_s: float = 99.0) -> Snapshot:
    """A lone program that has long been reading from a pipe, of which it has these ends open."""
    task = KernelThread(70, "python", "S", voluntary=3, involuntary=0, still_s=still_s, wchan="pipe_read")
    files = OpenFiles(tuple(OpenFile(5 + at, "pipe:[11]", end) for at, end in enumerate(ends)))
    records = [Threads((task,), uptime_s=120.0), PythonStacks((PythonThread(70, stack, "MainThread"),), engine="test"),
               Blocked((BlockedCall(70, "read", (5,)),)), files, *more]  # fmt: skip
    sweeps = tuple(Sweep(at, float(at), (REF,), tuple(Item(REF, record) for record in records)) for at in (0, 1))
    process = Process(REF, Role.OTHER, parent=1, comm="python", command=("python", "run.py"))
    return Snapshot(Job("none", root=REF), processes=(process,), sweeps=sweeps)


def first(snapshot: Snapshot) -> Finding | None:
    return next((one for one in judge(snapshot).findings if one.kind is Kind.CAUSE), None)


def beside(state: str) -> Outsiders:
    return Outsiders((Outsider(99, "server", state, fd=5, inode=11),))


def test_a_stopped_process_beside_the_job_is_named() -> None:
    found = first(reader(READS, beside("T")))
    assert found is not None
    assert (found.rule, found.cls) == ("peer-stopped", "process-stopped")
    assert "pid 99 (server)" in found.title
    assert found.processes[0].ref.pid == 99


def test_one_that_runs_is_mentioned_and_not_accused() -> None:
    found = first(reader(READS, beside("S")))
    assert found is not None
    assert found.rule == "rank-in-user-code"
    assert found.title.startswith("python (pid 70")
    assert any("pid 99 (server)" in reason.text for reason in found.because)
    assert [one.ref.pid for one in found.processes] == [70, 99]
    assert "rankscope diagnose pid:99" in map(str, found.next)


JOINS = Stack([Frame("main", "/job/run.py", 9), Frame("join", "/usr/lib/python3.11/threading.py", 1112)])
NAPS = Stack([Frame("main", "/job/run.py", 9)])


@pytest.mark.parametrize(
    ("main", "call", "still_s", "accused"),
    [
        (JOINS, BlockedCall(70, "futex", address=64), 99.0, True),
        (JOINS, BlockedCall(70, "futex", address=64), 1.0, False),
        (NAPS, BlockedCall(70, "clock_nanosleep", timed=True), 99.0, False),
    ],
)
def test_a_stopped_process_for_which_a_thread_waits_that_is_waited_for(
    main: Stack, call: BlockedCall, still_s: float, accused: bool
) -> None:
    """What other threads wait for is their own affair while the main one does something else."""
    task = KernelThread(71, "python", "S", voluntary=3, involuntary=0, still_s=still_s, wchan="pipe_read")
    whole = reader(main, beside("T"))
    looks = tuple(
        dataclasses.replace(sweep, items=tuple(_with_thread(item, task, call) for item in sweep.items))
        for sweep in whole.sweeps
    )
    found = first(dataclasses.replace(whole, sweeps=looks))
    assert (found is not None and found.rule == "peer-stopped") is accused


def _with_thread(item: Item, task: KernelThread, call: BlockedCall) -> Item:
    """A second thread reads from the pipe, and the main one makes this call."""
    record = item.record
    if isinstance(record, Threads):
        record = dataclasses.replace(record, threads=(*record.threads, task))
    elif isinstance(record, PythonStacks):
        record = dataclasses.replace(record, threads=(*record.threads, PythonThread(71, READS, "Thread-1")))
    elif isinstance(record, Blocked):
        record = Blocked((call, BlockedCall(71, "read", (5,))))
    return dataclasses.replace(item, record=record)


def test_a_young_wait_for_a_stopped_process_is_no_cause() -> None:
    assert first(reader(READS, beside("T"), still_s=1.0)) is None


def test_a_queue_whose_other_end_nobody_else_has_open_gets_no_more_items() -> None:
    found = first(reader(TAKES, ends="rw"))
    assert found is not None
    assert (found.rule, found.cls) == ("nobody-writes", "child-dead")


def test_a_parent_at_its_end_that_waits_for_the_reader_never_said_that_this_was_all() -> None:
    """It lives: no helper has died."""
    parent = ProcessRef("n1", 60, 1)
    joins = Stack([Frame("_exit_function", "/usr/lib/python3.11/multiprocessing/util.py", 357),
                   Frame("poll", "/usr/lib/python3.11/multiprocessing/popen_fork.py", 27)])  # fmt: skip
    task = KernelThread(60, "python", "S", voluntary=3, involuntary=0, still_s=99.0, wchan="do_wait")
    more = (Threads((task,), uptime_s=130.0), PythonStacks((PythonThread(60, joins, "MainThread"),), engine="test"),
            Blocked((BlockedCall(60, "wait4", child=70),)), OpenFiles(()))  # fmt: skip
    whole = reader(TAKES, ends="rw")
    looks = tuple(
        dataclasses.replace(one, present=(parent, REF), items=(*one.items, *(Item(parent, record) for record in more)))
        for one in whole.sweeps
    )
    above = Process(parent, Role.LAUNCHER, parent=1, comm="python", command=("python", "run.py"))
    below = dataclasses.replace(whole.processes[0], parent=60)
    found = judge(dataclasses.replace(whole, job=Job("plain", root=parent), processes=(above, below), sweeps=looks))
    told = next(one for one in found.findings if one.rule == "nobody-writes")
    assert told.cls == "exit-hang"
    assert [one.ref.pid for one in told.processes] == [70, 60]


def test_somebody_beside_the_job_may_still_write() -> None:
    found = first(reader(TAKES, beside("S"), ends="rw"))
    assert found is None or found.cls != "child-dead"


def test_a_reader_that_closed_its_writing_end_has_a_writer_somewhere() -> None:
    """Else the kernel would have told it of the end."""
    found = first(reader(TAKES, ends="r"))
    assert found is None or found.cls != "child-dead"


def test_a_member_that_holds_a_file_lock_is_named_where_its_stack_is_closed_to_us() -> None:
    """Anybody may read the kernel's list of locks."""
    holder = ProcessRef("n1", 71, 1)

    def look(at: int) -> Sweep:
        items = []
        for ref, wchan, extra in (
            (REF, "locks_lock_inode_wait", (HeldLock(70, "FLOCK", "/job/lock", (71,)),)),
            (holder, "pipe_read", ()),
        ):
            task = KernelThread(ref.pid, "python", "S", voluntary=3, involuntary=0, still_s=99.0, wchan=wchan)
            items += [Item(ref, Threads((task,), uptime_s=120.0)), Item(ref, Blocked((), extra))]
        return Sweep(at, float(at), (REF, holder), tuple(items))

    processes = tuple(
        Process(ref, Role.OTHER, parent=1, comm="python", command=("python", "run.py")) for ref in (REF, holder)
    )
    found = first(Snapshot(Job("plain"), processes=processes, sweeps=(look(0), look(1))))
    assert found is not None
    assert found.rule == "file-lock-held"
    assert found.processes[0].ref == holder


def locked(*more: One, holder: int = 99, halted: str = "", kind: str = "FLOCK") -> set[tuple[str, str]]:
    """What is said of a lone program that waits for a file lock; ``more`` are its other threads."""
    return causes(holds(HeldLock(70, kind, "/job/lock", (holder,), "python", holder_halted=halted), *more))


def holds(lock: HeldLock, *more: One) -> Diagnosis:
    """What is said of a lone program that waits for this lock."""
    waits = One((MAIN, STEP), wchan="locks_lock_inode_wait")
    process, looks = body(70, waits, *more)
    told_locks = tuple(
        tuple(dataclasses.replace(one, locks=(lock,)) if isinstance(one, Blocked) else one for one in look)
        for look in looks
    )
    return told((process, told_locks), launcher="none")


def test_a_holder_in_another_container_is_nobody_that_can_be_named() -> None:
    """Its pid is not known here, and ``ps`` would show another process or none."""
    diagnosis = holds(HeldLock(70, "FLOCK", "/job/lock", ()))
    found = diagnosis.findings[0]
    assert (found.rule, found.certainty) == ("file-lock-held", Certainty.LIKELY)
    assert "another container or host" in found.title
    assert not any("ps -fp" in str(step) for step in found.next)
    (wait,) = diagnosis.waits
    assert (wait.target, wait.why) == (None, "the FLOCK lock on /job/lock")


@pytest.mark.parametrize(("halted", "cls"), [("", "rank-stuck-in-user-code"), ("frozen", "process-stopped")])
def test_a_holder_beside_the_job_may_be_halted(halted: str, cls: str) -> None:
    assert ("file-lock-held", cls) in locked(halted=halted)


@pytest.mark.parametrize(
    ("beside", "accused"), [((), True), ((One(),), True), ((One(wchan="hrtimer_nanosleep"),), False)]
)
def test_a_lock_that_the_process_itself_has_by_another_descriptor(beside: tuple[One, ...], accused: bool) -> None:
    """A thread of it that is not in a wait of that kind may let go."""
    assert (("file-lock-held", "lock-order-deadlock") in locked(*beside, holder=70)) is accused


def test_who_holds_the_other_end_is_found_among_all_processes() -> None:
    """A pipe to a real child that somebody stops."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.stdin is not None
        fd = child.stdin.fileno()
        try:
            os.kill(child.pid, signal.SIGSTOP)
            wait_until(lambda: _state(child.pid) == "T", within=5)
            process = Process(ProcessRef("n1", os.getpid(), 1), Role.RANK)
            seen = {"blocked": Blocked((BlockedCall(os.getpid(), "write", (fd,)),)),
                    "files": OpenFiles((OpenFile(fd, os.readlink(f"/proc/self/fd/{fd}"), "w"),))}  # fmt: skip
            found = collect(Target(process, seen=seen))
            assert found is not None
            assert [(one.pid, one.state, one.fd) for one in found.found] == [(child.pid, "T", fd)]
            assert (
                collect(dataclasses.replace(Target(process, seen=seen), seen={**seen, "blocked": Blocked(())})) is None
            )
        finally:
            os.kill(child.pid, signal.SIGCONT)
            child.kill()


def _state(pid: int) -> str:
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def test_who_has_kept_the_output_of_a_command_is_found_on_both_of_its_pipes() -> None:
    """``subprocess.run("service & …", shell=True, capture_output=True)``: the shell has ended, and what it left has its pipes."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as child:  # fmt: skip
        assert child.stdout is not None
        assert child.stderr is not None
        fds = (child.stdout.fileno(), child.stderr.fileno())
        files = OpenFiles(tuple(OpenFile(fd, os.readlink(f"/proc/self/fd/{fd}"), "r") for fd in fds))
        process = Process(ProcessRef("n1", os.getpid(), 1), Role.OTHER)
        seen = {"blocked": Blocked((BlockedCall(os.getpid(), "poll", fds),)), "files": files}
        found = collect(Target(process, seen=seen))
        child.kill()
    assert found is not None
    assert {(one.pid, one.fd) for one in found.found} == {(child.pid, fd) for fd in fds}
    kept = Outsiders(tuple(Outsider(99, "service", "S", fd, fd) for fd in (5, 6)))
    pipes = OpenFiles((OpenFile(5, "pipe:[5]", "r"), OpenFile(6, "pipe:[6]", "r")))
    reads = One(
        (MAIN, Frame("Popen._communicate", "/usr/lib/python3.11/subprocess.py", 2021)),
        BlockedCall(0, "poll", (5, 6)),
        wchan="poll_schedule_timeout",
    )
    (cause,) = [
        one for one in told(body(70, reads, more=(pipes, kept)), launcher="none").findings if one.kind is Kind.CAUSE
    ]
    assert "waits on a pipe" in cause.title
    assert [one.ref.pid for one in cause.processes] == [70, 99]
