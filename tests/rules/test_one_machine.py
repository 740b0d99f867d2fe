"""Ways in which the processes of one machine stand still, each beside the healthy one that looks alike."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import pytest

from rankscope.model.diagnosis import Certainty, Diagnosis, Kind
from rankscope.model.evidence.blocked import Blocked, BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.outsiders import Outsider, Outsiders
from rankscope.model.evidence.recorder import Recorder, RecorderEntry
from rankscope.model.evidence.sockets import Socket, Sockets
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack, Trust
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Host, Item, Job, Snapshot, Sweep
from rankscope.pipeline import judge

LIB = "/usr/lib/python3.11"
DIST = f"{LIB}/site-packages/torch/distributed/distributed_c10d.py"
MAIN, STEP = Frame("<module>", "/job/train.py", 40), Frame("step", "/job/train.py", 12)
JOIN = Frame("Process.join", f"{LIB}/multiprocessing/process.py", 149)
WAITS, ENTERS = (
    Frame("Condition.wait", f"{LIB}/threading.py", 327),
    Frame("Semaphore.acquire", f"{LIB}/threading.py", 507),
)
RESULT = Frame("Future.result", f"{LIB}/concurrent/futures/_base.py", 451)

Body = tuple[Process, tuple[tuple[object, ...], ...]]


@dataclass(frozen=True)
class One:
    """One thread: its frames, its system call, and how it stands."""

    frames: tuple[Frame, ...] = (MAIN, STEP)
    call: BlockedCall | None = None
    state: str = "S"
    wchan: str = "futex_wait_queue"
    still_s: float = 99.0
    turns: int = 0  # switches between the looks
    gil: bool = False


def body(pid: int, *threads: One, role: Role = Role.OTHER, parent: int = 1, rank: int | None = None, forked: bool = False,
         exit_status: int | None = None, more: tuple[object, ...] = ()) -> Body:  # fmt: skip
    """A process and its evidence at two looks; its first thread is the main one."""
    looks = []
    for at in (0, 1):
        tids = [pid, *(pid * 10 + n for n in range(1, len(threads)))]
        tasks = tuple(
            KernelThread(tid, "python", one.state, one.wchan, voluntary=3 + at * one.turns, involuntary=0,
                         still_s=one.still_s + at, cpu_s=float(at) if one.state == "R" else 0.0)
            for tid, one in zip(tids, threads)
        )  # fmt: skip
        stacks = tuple(
            PythonThread(tid, Stack(one.frames), f"T{tid}", Trust.EXACT, one.gil) for tid, one in zip(tids, threads)
        )
        calls = tuple(
            dataclasses.replace(one.call, tid=tid, address=one.call.address or tid)
            for tid, one in zip(tids, threads)
            if one.call
        )
        kernel = Threads(tasks, uptime_s=120.0 + at, forked=forked, exit_status=exit_status)
        living = (PythonStacks(stacks, engine="test"), Blocked(calls)) if exit_status is None else ()
        looks.append((kernel, *living, *more))
    return Process(ProcessRef("n1", pid, 1), role, parent=parent, comm="python", rank=rank), tuple(looks)


def told(*bodies: Body, launcher: str = "plain", stuck: float = 30.0,
         world: int | None = None) -> Diagnosis:  # fmt: skip
    """What is said of a live job of one host; its root is the first process."""
    processes = tuple(process for process, _ in bodies)
    refs = tuple(process.ref for process in processes)
    sweeps = tuple(
        Sweep(
            at, float(at), refs, tuple(Item(process.ref, record) for process, looks in bodies for record in looks[at])
        )
        for at in (0, 1)
    )
    return judge(Snapshot(Job(launcher, root=refs[0], world_size=world), (Host("n1"),), processes, sweeps), stuck)


def causes(found: Diagnosis) -> set[tuple[str, str]]:
    """Rule and class of each cause."""
    return {(one.rule, one.cls) for one in found.findings if one.kind is Kind.CAUSE}


LOCK = BlockedCall(0, "futex")
LAUNCH = Frame("Popen._launch", f"{LIB}/multiprocessing/popen_fork.py", 66)
LOCK_OF_PYTHON = BlockedCall(0, "futex", library="python3.11")
ASKS = One((MAIN, STEP), BlockedCall(0, "recvfrom", (3,)), wchan="unix_stream_read_generic")
LOOPS = One(state="R", wchan="", still_s=0.0, turns=9)


@pytest.mark.parametrize(("threads", "rule"), [(2, "lock-copied-by-fork"), (1, "locks-crosswise")])
def test_a_plain_fork_copies_the_locks_of_a_parent_that_has_threads(threads: int, rule: str) -> None:
    """The kernel tells that a process was forked; a parent without threads left no lock behind."""
    parent = body(
        70, *([One((MAIN, JOIN), BlockedCall(0, "wait4"), wchan="do_wait"), LOOPS][:threads]), role=Role.LAUNCHER
    )
    child = body(71, One((MAIN, STEP), LOCK_OF_PYTHON), parent=70, forked=True)
    assert {one for one, _ in causes(told(parent, child))} == {rule}


@pytest.mark.parametrize(("owner", "cls"), [(69, "fork-with-threads"), (0, "rank-stuck-in-user-code")])
def test_a_mutex_of_a_forked_child_names_a_thread_that_has_ended(owner: int, cls: str) -> None:
    """Its parent has one thread left, and no other one that could have had the lock."""
    parent = body(66, One((MAIN, JOIN), BlockedCall(0, "wait4"), wchan="do_wait"), role=Role.LAUNCHER)
    child = body(71, One((MAIN, LAUNCH, STEP), dataclasses.replace(LOCK, owner=owner)), parent=66, forked=True)
    assert {one for _, one in causes(told(parent, child))} == {cls}


def test_a_program_that_was_started_anew_has_locks_of_its_own() -> None:
    parent = body(70, One((MAIN, JOIN), BlockedCall(0, "wait4"), wchan="do_wait"), LOOPS, role=Role.LAUNCHER)
    child = body(71, One((MAIN, STEP), LOCK_OF_PYTHON), parent=70)
    assert {one for one, _ in causes(told(parent, child))} == {"locks-crosswise"}


@pytest.mark.parametrize(("forked", "cls"), [(True, "fork-with-threads"), (False, "lock-order-deadlock")])
def test_the_only_thread_of_a_child_keeps_nobody_from_the_gil(forked: bool, cls: str) -> None:
    parent = body(70, One((MAIN, JOIN), BlockedCall(0, "wait4"), wchan="do_wait"), LOOPS, role=Role.LAUNCHER)
    child = body(71, One((MAIN, STEP), LOCK, gil=True), parent=70, forked=forked)
    found = {one for _, one in causes(told(parent, child))}
    assert cls in found
    assert "gil-deadlock" not in found


@pytest.mark.parametrize(("call", "cls"), [("write", "queue-pipe-full"), ("read", "p2p-order-deadlock")])
def test_two_pipes_that_are_both_full_or_both_empty(call: str, cls: str) -> None:
    """Who writes both ways has filled the pipes; who reads both ways has an order that is wrong."""
    fds = (3,)
    ends = ("w", "r") if call == "write" else ("r", "w")
    bodies = [
        body(pid, One((MAIN, STEP), BlockedCall(0, call, fds), wchan=f"pipe_{call}"), rank=pid - 70, role=Role.RANK,
             more=(OpenFiles((OpenFile(3, f"pipe:[{pid}]", ends[0]), OpenFile(4, f"pipe:[{141 - pid}]", ends[1]))),))
        for pid in (70, 71)
    ]  # fmt: skip
    assert ("wait-cycle", cls) in causes(told(*bodies))


@pytest.mark.parametrize(("call", "accused"), [("accept4", False), ("recvfrom", True)])
def test_a_server_without_a_caller_is_nobodys_culprit(call: str, accused: bool) -> None:
    """Who started it minds it; one that stands in the middle of a call is another matter."""
    parent = body(
        70, One((MAIN, Frame("wait", "/job/train.py", 9)), BlockedCall(0, "wait4"), wchan="do_wait"), role=Role.LAUNCHER
    )
    worker = body(71, One((MAIN, STEP), BlockedCall(0, call, (3,)), wchan="inet_csk_accept"), parent=70)
    found = told(parent, worker)
    assert (bool(causes(found)), found.state.value == "stuck") == (accused, accused)


@pytest.mark.parametrize(("still_s", "accused"), [(2.7, False), (40.0, True)])
def test_who_was_woken_lately_from_a_wait_without_limit_got_on_until_then(still_s: float, accused: bool) -> None:
    """Others may have waited for it much longer."""
    sockets = {pid: Sockets((Socket(pid, "unix", peer_inode=141 - pid),)) for pid in (70, 71)}
    files = {pid: OpenFiles((OpenFile(3, f"socket:[{pid}]", "rw"),)) for pid in (70, 71)}
    late = body(70, One((MAIN, RESULT, WAITS), LOCK, still_s=still_s), One((STEP,), BlockedCall(0, "poll", timed=True), turns=3),
                rank=0, role=Role.RANK, more=(sockets[70], files[70]))  # fmt: skip
    early = body(71, ASKS, rank=1, role=Role.RANK, more=(sockets[71], files[71]))
    assert bool(causes(told(late, early, launcher="environment"))) is accused


OWN_CODE = Frame("step", "/job/train.py", 12)
TOKENS = Frame("_batch_encode_plus", f"{LIB}/site-packages/transformers/tokenization_utils_fast.py", 529)
PACKS = Frame("GzipFile.write", f"{LIB}/gzip.py", 289)
TO_HOST = Frame("_maybe_log", f"{LIB}/site-packages/transformers/trainer.py", 3000)


@pytest.mark.parametrize(
    ("gil", "device", "inner", "accused"),
    [
        (False, "", OWN_CODE, False),
        (True, "", OWN_CODE, True),
        (False, "/dev/nvidia0", OWN_CODE, True),
        (False, "/dev/nvidia0", TO_HOST, True),
        (False, "/dev/nvidia0", TOKENS, False),
        (True, "/dev/nvidia0", TOKENS, True),
        (False, "/dev/nvidia0", PACKS, False),
    ],
)
def test_a_long_native_call_that_lets_others_run_is_work(gil: bool, device: str, inner: Frame, accused: bool) -> None:
    """A loop that went astray keeps the GIL; a process with a device may wait for it at full speed, but for calls of
    packages that know no device."""
    sockets = {pid: Sockets((Socket(pid, "unix", peer_inode=141 - pid),)) for pid in (70, 71)}
    files = {
        pid: OpenFiles((OpenFile(3, f"socket:[{pid}]", "rw"), OpenFile(4, device or "/dev/null", "rw")))
        for pid in (70, 71)
    }
    late = body(
        70,
        One((MAIN, inner), state="R", wchan="", still_s=0.0, gil=gil),
        rank=0,
        role=Role.RANK,
        more=(sockets[70], files[70]),
    )
    early = body(71, ASKS, rank=1, role=Role.RANK, more=(sockets[71], files[71]))
    found = told(late, early, launcher="environment")
    assert (bool(causes(found)), found.state.value) == (accused, "stuck" if accused else "slow")


@pytest.mark.parametrize(("busy", "certainty"), [(False, Certainty.CERTAIN), (True, Certainty.LIKELY)])
def test_a_rank_that_works_on_may_still_come_to_the_collective(busy: bool, certainty: Certainty) -> None:
    """The recorders are sure of who has not come, not of whether it ever will."""
    done = RecorderEntry(1, "0", "default_pg", 1, "all_reduce", done=True, created_ns=10**9)
    last = RecorderEntry(2, "0", "default_pg", 2, "all_reduce", done=False, created_ns=2 * 10**9)

    def of(*entries: RecorderEntry) -> tuple[object, ...]:
        return (
            Recorder(entries, source="memory", read_at_ns=200 * 10**9),
            OpenFiles((OpenFile(4, "/dev/nvidia0", "rw"),)),
        )

    bodies = [body(70 + r, One((MAIN, Frame("all_reduce", DIST, 3252)), LOCK), rank=r, role=Role.RANK, more=of(done, last))
              for r in (0, 2)]  # fmt: skip
    thread = LOOPS if busy else One((MAIN, STEP), BlockedCall(0, "poll", (3,), timed=True), wchan="do_sys_poll")
    found = told(*bodies, body(71, thread, rank=1, role=Role.RANK, more=of(done)), launcher="torchrun", world=3)
    (cause,) = [one for one in found.findings if one.rule == "recorder-missed"]
    assert (cause.certainty, any("CPU" in one for one in cause.against)) == (certainty, busy)
    assert not any("CPU" in one.text for one in cause.because)


@pytest.mark.parametrize(("timed", "accused"), [(False, True), (True, False)])
def test_semaphores_that_no_thread_is_left_to_release(timed: bool, accused: bool) -> None:
    """A thread that wakes by itself may release one."""
    takes = One((Frame("run", "/job/train.py", 5), ENTERS, WAITS), LOCK)
    last = One((Frame("tick", "/job/train.py", 8),), BlockedCall(0, "futex", timed=timed))
    main = One((MAIN, Frame("Thread.join", f"{LIB}/threading.py", 1119)), LOCK)
    found = told(body(70, main, takes, takes, last), launcher="none")
    assert (("locks-crosswise", "lock-order-deadlock") in causes(found)) is accused


@pytest.mark.parametrize(("still_s", "accused"), [(99.0, True), (0.2, False)])
def test_a_thread_of_a_pool_that_waits_for_storage(still_s: float, accused: bool) -> None:
    """The main thread waits for the pool; a disk that answers lets its threads go on."""
    main = One((MAIN, Frame("wait", f"{LIB}/concurrent/futures/_base.py", 305), WAITS), LOCK)
    saves = One((Frame("save", "/job/train.py", 9),), state="D", wchan="percpu_rwsem_wait", still_s=still_s)
    found = told(body(70, main, saves), launcher="none")
    assert (("filesystem-stall", "filesystem-stall") in causes(found)) is accused


@pytest.mark.parametrize(
    ("status", "sibling", "accused"), [(9, False, True), (0, False, False), (15, False, False), (9, True, False)]
)
def test_a_program_that_polls_for_its_dead_child(status: int, sibling: bool, accused: bool) -> None:
    """One that ended well or was told to end, and one with a living sibling, explain nothing."""
    main = One(
        (MAIN, Frame("sleep", "/job/train.py", 3)),
        BlockedCall(0, "clock_nanosleep", timed=True),
        wchan="hrtimer_nanosleep",
        turns=30,
    )
    dead = body(71, One((), state="Z", wchan=""), parent=70, exit_status=status)
    other = [body(72, One((MAIN, STEP), LOCK, still_s=0.1, turns=4), parent=70)] if sibling else []
    found = told(body(70, main, role=Role.LAUNCHER), dead, *other)
    assert (("dead-child-polled-for", "child-dead") in causes(found)) is accused
    assert found.state.value != "exited"


@pytest.mark.parametrize(
    ("status", "target", "accused"),
    [(9, "anon_inode:[eventfd]", True), (0, "anon_inode:[eventfd]", False), (9, "socket:[5]", False)],
)
def test_a_rank_that_waits_for_an_event_of_its_dead_child(status: int, target: str, accused: bool) -> None:
    """Of an event descriptor nobody sees who has the other end; a child that ended well may have left it to somebody."""
    reads = One((MAIN, Frame("batch", "/job/train.py", 33)), BlockedCall(0, "read", (5,)), wchan="eventfd_read")
    main = body(70, reads, parent=60, more=(OpenFiles((OpenFile(5, target, "rw"),)),))
    dead = body(71, One((), state="Z", wchan=""), parent=70, exit_status=status)
    found = told(main, dead, launcher="none")
    assert (("dead-child-polled-for", "child-dead") in causes(found)) is accused
    assert not accused or found.state.value == "stuck"


def test_who_reads_the_output_of_a_child_that_ended_waits_for_a_pipe() -> None:
    """The zombie is not to blame: somebody else has the pipe open."""
    reads = One(
        (MAIN, Frame("Popen.communicate", f"{LIB}/subprocess.py", 1196)),
        BlockedCall(0, "read", (3,)),
        wchan="pipe_read",
    )
    main = body(70, reads, more=(OpenFiles((OpenFile(3, "pipe:[5]", "r"),)),))
    dead = body(71, One((), state="Z", wchan=""), parent=70, exit_status=0)
    assert ("rank-in-user-code", "rank-stuck-in-user-code") in causes(told(main, dead, launcher="none"))


@pytest.mark.parametrize(("meets", "culprits"), [(True, "1"), (False, "0,2")])
def test_the_one_who_went_on_while_the_others_make_a_group(meets: bool, culprits: str) -> None:
    """They wait for all its members; where they stand in code of their own, they are those who are missing."""
    makes = (MAIN, Frame("new_group", DIST, 5863), Frame("_new_process_group_helper", DIST, 2169))
    stays = makes if meets else (MAIN, Frame("prepare", "/job/train.py", 77))
    done = RecorderEntry(1, "0", "default_pg", 1, "all_reduce", done=True, created_ns=10**9)
    last = RecorderEntry(2, "0", "default_pg", 2, "all_reduce", done=False, created_ns=2 * 10**9)

    def of(rank: int, *entries: RecorderEntry) -> tuple[object, ...]:
        return (Recorder(entries, source="memory", read_at_ns=200 * 10**9),)

    bodies = [body(70 + r, One(stays, BlockedCall(0, "poll", (3,), timed=True), wchan="do_sys_poll"), rank=r, role=Role.RANK,
                   more=of(r, done)) for r in (0, 2)]  # fmt: skip
    went = body(71, One((MAIN, Frame("all_reduce", DIST, 3252)), LOCK), rank=1, role=Role.RANK, more=of(1, done, last))
    found = told(*bodies, went, launcher="torchrun", world=3)
    assert found.verdict is not None
    assert str(found.verdict.ranks) == culprits
    where = [one.text for one in found.findings[0].because if " in prepare (train.py:77)" in one.text]
    assert bool(where) is not meets


@pytest.mark.parametrize(
    ("unaccepted", "state", "accused"), [(True, "S", True), (False, "S", False), (True, "R", False)]
)
def test_a_server_beside_the_job_that_has_not_accepted(unaccepted: bool, state: str, accused: bool) -> None:
    """One that has, and one that is at work, may answer yet."""
    more = (OpenFiles((OpenFile(3, "socket:[5]", "rw"),)),
            Sockets((Socket(5, "tcp", "127.0.0.1:40", "127.0.0.1:50", "established", peer_inode=6, unaccepted=unaccepted),)),
            Outsiders((Outsider(900, "server", state, 3, 6),)))  # fmt: skip
    found = told(*(body(70 + r, ASKS, rank=r, role=Role.RANK, more=more) for r in (0, 1)), launcher="environment")
    assert (("server-does-not-accept", "rank-stuck-in-user-code") in causes(found)) is accused


def test_a_stranger_at_the_meeting_point_is_only_possible() -> None:
    """Who wanted the port, and did not get it, says more."""
    meets = One(
        (MAIN, Frame("_create_c10d_store", f"{LIB}/torch/distributed/rendezvous.py", 190)),
        BlockedCall(0, "recvfrom", (3,)),
    )
    more = (OpenFiles((OpenFile(3, "socket:[5]", "rw"),)),
            Sockets((Socket(5, "tcp", "127.0.0.1:40", "127.0.0.1:50", "established", peer_inode=6, unaccepted=True),)),
            Outsiders((Outsider(900, "server", "S", 3, 6),)))  # fmt: skip
    found = told(*(body(70 + r, meets, rank=r, role=Role.RANK, more=more) for r in (0, 1)), launcher="environment")
    (cause,) = [one for one in found.findings if one.rule == "server-does-not-accept"]
    assert cause.certainty is Certainty.POSSIBLE
