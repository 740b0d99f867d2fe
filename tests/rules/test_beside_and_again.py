"""What runs beside a healthy job accuses nobody; ranks that are started again and again are no job that is over."""

from __future__ import annotations

import dataclasses

import pytest
from test_lone_programs import lone
from test_one_machine import MAIN, STEP, Body, One, body, causes, told

from rankscope.model.diagnosis import Certainty, Kind, State
from rankscope.model.evidence.blocked import Blocked, BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.sockets import Socket, Sockets
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Host, Item, Job, Snapshot, Sweep
from rankscope.pipeline import judge

WORKS = One((MAIN, STEP), None, state="R", wchan="", still_s=0.0, turns=9)
JOINS = One(
    (MAIN, Frame("Popen.wait", "/usr/lib/python3.11/subprocess.py", 1264)),
    BlockedCall(0, "wait4", child=71),
    wchan="do_wait",
)


def command(pid: int, parent: int, call: BlockedCall, wchan: str) -> Body:
    """A command, of which no stack of Python can be read."""
    task = KernelThread(pid, "sh", "S", wchan, voluntary=3, involuntary=0, still_s=99.0)
    calls = Blocked((BlockedCall(pid, call.call, child=call.child, timed=call.timed),))
    process = Process(ProcessRef("n1", pid, 1), Role.OTHER, parent=parent, comm="sh", command=("sh",))
    return process, tuple((Threads((task,), uptime_s=120.0 + at), calls) for at in (0, 1))


@pytest.mark.parametrize(("main", "accused"), [(WORKS, False), (JOINS, True)])
def test_a_shell_that_naps_beside_a_program_accuses_nobody(main: One, accused: bool) -> None:
    """``while true; do nvidia-smi; sleep 60; done``: only who waits for the shell is kept waiting."""
    shell = command(71, 70, BlockedCall(0, "wait4", child=72), "do_wait")
    naps = command(72, 71, BlockedCall(0, "clock_nanosleep", timed=True), "hrtimer_nanosleep")
    found = told(body(70, main), shell, naps)
    assert (("command-runs-on", "rank-stuck-in-user-code") in causes(found)) is accused
    assert found.state is (State.UNKNOWN if accused else State.MOVING)


@pytest.mark.parametrize("wchan", ["__do_sys_pause", "do_sigtimedwait.isra.0"])
def test_a_main_thread_that_waits_for_a_signal_is_not_sick(wchan: str) -> None:
    """``signal.pause()`` in the main thread while another one works: so do daemons all their life."""
    found = told(body(70, One((MAIN,), None, wchan=wchan)), launcher="none")
    assert causes(found) == set()


def test_its_one_worker_is_looked_at_instead() -> None:
    found = told(body(70, One((MAIN,), None, wchan="__do_sys_pause"), WORKS), launcher="none")
    assert (causes(found), found.state) == (set(), State.MOVING)


@pytest.mark.parametrize(("state", "sick"), [("listen", False), ("established", True)])
def test_a_server_that_selects_its_listening_socket_has_no_caller(state: str, sick: bool) -> None:
    held = OpenFiles((OpenFile(3, "socket:[8]", "rw"),))
    sockets = Sockets((Socket(8, "tcp", "127.0.0.1:80", "", state),))
    polls = One((MAIN, STEP), BlockedCall(0, "epoll_wait", (3,)), wchan="ep_poll")
    found = told(body(70, polls, more=(held, sockets)), launcher="none")
    assert bool(causes(found)) is sick


def test_a_program_whose_name_speaks_of_locks_and_threads_does_not_import() -> None:
    """``<module>`` of a stack is no word about modules."""
    stack = Stack([Frame("<module>", "/job/deadlock_threads.py", 9), Frame("get", "/usr/lib/python3.11/queue.py", 171)])
    assert "import-lock" not in {one.cls for one in judge(lone(stack, timed=True)).findings if one.kind is Kind.CAUSE}


def attempts(count: int, age_s: float) -> Snapshot:
    """torchrun, two minutes old, and one rank of this age, which disappears between the looks."""
    agent = Process(ProcessRef("n1", 70, 1), Role.LAUNCHER, parent=1, comm="torchrun", command=("torchrun",))
    rank = Process(
        ProcessRef("n1", 71, 2), Role.RANK, parent=70, comm="python", command=("python",), rank=0, attempt=count
    )
    stacks = PythonStacks((PythonThread(71, Stack([MAIN, STEP]), "MainThread"),), engine="test")

    def look(process: Process, age: float, at: int, *more: object) -> tuple[Item, ...]:
        task = KernelThread(
            process.ref.pid, process.comm, "S", "hrtimer_nanosleep", voluntary=3 + at, involuntary=0, still_s=0.1
        )
        return tuple(Item(process.ref, one) for one in (Threads((task,), uptime_s=age + at), *more))

    first = Sweep(0, 0.0, (agent.ref, rank.ref), (*look(agent, 120.0, 0), *look(rank, age_s, 0, stacks)))
    last = Sweep(1, 1.0, (agent.ref,), look(agent, 120.0, 1))
    return Snapshot(Job("torchrun", root=agent.ref, world_size=1), (Host("n1"),), (agent, rank), (first, last))


@pytest.mark.parametrize(
    ("count", "age_s", "again"),
    [(11, 8.0, True), (11, 50.0, False), (1, 8.0, False), (0, 8.0, False)],
    ids=["a loop", "got over it", "one lost node", "the first attempt"],
)
def test_ranks_that_are_started_again_and_again(count: int, age_s: float, again: bool) -> None:
    found = judge(attempts(count, age_s))
    rules = {one.rule for one in found.findings}
    assert ("ranks-started-again" in rules, "job-ended" in rules) == (again, not again)
    assert found.state is (State.STUCK if again else State.EXITED)


@pytest.mark.parametrize(("name", "said"), [("ConnectionRefusedError", True), ("", False), ("Empty", False)])
def test_a_lone_program_that_tries_again_in_vain_is_noted_and_not_accused(name: str, said: bool) -> None:
    """It pauses in the handler of one error at each look; a time limit of a queue is no error."""
    process, looks = body(70, One((MAIN, STEP), wchan="hrtimer_nanosleep", still_s=0.3, turns=1))
    handles = tuple(
        tuple(
            dataclasses.replace(one, threads=tuple(dataclasses.replace(thread, handles=name) for thread in one.threads))
            if isinstance(one, PythonStacks)
            else one
            for one in look
        )
        for look in looks
    )
    diagnosis = told((process, handles), launcher="none")
    found = [one for one in diagnosis.findings if one.rule == "tries-in-vain"]
    assert [(one.kind, one.certainty) for one in found] == ([(Kind.NOTE, Certainty.POSSIBLE)] if said else [])
    assert diagnosis.verdict is None


ANY = One(
    (MAIN, Frame("main", "/job/start.py", 9)),
    BlockedCall(0, "wait4"),
    wchan="do_wait",
)
TAIL = BlockedCall(0, "poll", (4,))
FIFO = BlockedCall(0, "openat")


def test_a_tool_that_was_started_beside_the_program_is_not_waited_for() -> None:
    """``os.wait()`` of a start script ends with whoever ends first; it is not ``tail -f`` that it means."""
    tail, asleep = command(71, 70, TAIL, "poll_schedule_timeout"), body(72, One((MAIN, STEP)), parent=70)
    for main, sick in ((WORKS, False), (One((MAIN, STEP), None, wchan="hrtimer_nanosleep"), True)):
        found = told(body(70, ANY), tail, body(72, main, parent=70))
        assert bool(causes(found)) is sick
        assert all(one.processes[0].ref.pid == 72 for one in found.findings if one.kind is Kind.CAUSE)
    assert {wait.target.pid for wait in told(body(70, ANY), tail, asleep).waits if wait.target} == {72}


def test_parents_in_a_circle_are_gone_through_once() -> None:
    """No kernel has them; a snapshot that somebody wrote may."""
    shell = command(72, 73, BlockedCall(0, "wait4"), "do_wait")
    below = [command(pid, 72, TAIL, "poll_schedule_timeout") for pid in (73, 74)]
    found = told(body(70, JOINS), command(71, 70, FIFO, "wait_for_partner"), shell, *below)
    assert [(wait.waiter.pid, wait.target.pid) for wait in found.waits if wait.target] == [(70, 71), (72, 74)]


def test_of_commands_of_a_shell_the_one_in_front_was_started_last() -> None:
    shell = command(71, 70, BlockedCall(0, "wait4"), "do_wait")
    beside, front = command(72, 71, TAIL, "poll_schedule_timeout"), command(73, 71, FIFO, "wait_for_partner")
    found = told(body(70, JOINS), shell, beside, front)
    assert [one.processes[1].ref.pid for one in found.findings if one.kind is Kind.CAUSE] == [73]


@pytest.mark.parametrize(
    ("waiter", "beside", "wait", "sure"),
    [
        (JOINS, False, FIFO, Certainty.LIKELY),
        (ANY, False, FIFO, Certainty.LIKELY),
        (ANY, True, FIFO, Certainty.POSSIBLE),
        (JOINS, True, FIFO, Certainty.LIKELY),
        (JOINS, False, TAIL, Certainty.POSSIBLE),
    ],
)
def test_a_command_is_surely_waited_for_only_where_it_is_meant(
    waiter: One, beside: bool, wait: BlockedCall, sure: Certainty
) -> None:
    """Who waits for any of two commands may mean the other one, and one that polls may do so all its life."""
    channel = "wait_for_partner" if wait is FIFO else "poll_schedule_timeout"
    others = [command(72, 70, FIFO, "wait_for_partner")] if beside else []
    found = told(body(70, waiter), command(71, 70, wait, channel), *others)
    assert {one.certainty for one in found.findings if one.kind is Kind.CAUSE} == {sure}


SLEEPS = One((MAIN, STEP), BlockedCall(0, "clock_nanosleep", timed=True), wchan="hrtimer_nanosleep")


EVENT = One((MAIN, STEP, Frame("Event.wait", "/usr/lib/python3.11/threading.py", 629)))


@pytest.mark.parametrize(
    ("rests", "role", "number", "sure"),
    [
        (SLEEPS, Role.OTHER, None, Certainty.POSSIBLE),
        (EVENT, Role.OTHER, None, Certainty.POSSIBLE),
        (SLEEPS, Role.RANK, 0, Certainty.CERTAIN),
    ],
)
def test_a_program_that_rests_while_only_its_parent_minds_it_may_serve_or_work_by_the_clock(
    rests: One, role: Role, number: int | None, sure: Certainty
) -> None:
    """A scheduler below its supervisor; of a rank nobody expects that."""
    found = told(body(70, JOINS), body(71, rests, parent=70, role=role, rank=number))
    (cause,) = [one for one in found.findings if one.kind is Kind.CAUSE]
    assert (cause.processes[0].ref.pid, cause.certainty, bool(cause.against)) == (71, sure, role is Role.OTHER)


def test_a_filter_of_its_output_is_not_kept_waiting_by_a_program_that_sleeps() -> None:
    process, looks = body(71, SLEEPS, parent=70, more=(OpenFiles((OpenFile(1, "pipe:[5]", "w"),)),))
    tee, seen = command(72, 70, BlockedCall(0, "read", (0,)), "pipe_read")
    calls = Blocked((BlockedCall(72, "read", (0,)),))
    reads = tuple((look[0], calls, OpenFiles((OpenFile(0, "pipe:[5]", "r"),))) for look in seen)
    found = told(body(70, JOINS), (process, looks), (tee, reads))
    assert [one.certainty for one in found.findings if one.kind is Kind.CAUSE] == [Certainty.POSSIBLE]
    assert {wait.waiter.pid for wait in found.waits} == {70, 72}


def test_who_opens_a_fifo_may_wait_for_orders() -> None:
    opens = One((MAIN, STEP), BlockedCall(0, "openat"), wchan="wait_for_partner")
    (cause,) = [one for one in told(body(70, opens), launcher="none").findings if one.kind is Kind.CAUSE]
    assert (cause.certainty, "opens a FIFO" in cause.title) == (Certainty.POSSIBLE, True)


def test_who_reads_from_a_command_waits_for_its_output_and_perhaps_follows_a_log() -> None:
    reader = One((MAIN, STEP), BlockedCall(0, "read", (3,)), wchan="pipe_read")
    tail, seen = command(71, 70, TAIL, "poll_schedule_timeout")
    writes = tuple((*look, OpenFiles((OpenFile(1, "pipe:[5]", "w"),))) for look in seen)
    found = told(body(70, reader, more=(OpenFiles((OpenFile(3, "pipe:[5]", "r"),)),)), (tail, writes))
    (cause,) = [one for one in found.findings if one.rule == "command-runs-on"]
    assert cause.certainty is Certainty.POSSIBLE
    assert "waits for the other end of pipe:[5], held by pid 71" in cause.because[0].text


def test_a_command_that_is_told_of_the_end_of_its_child_waits_for_it() -> None:
    """``timeout 1h python train.py`` sleeps in sigsuspend."""
    guard = command(71, 70, BlockedCall(0, "rt_sigsuspend"), "sigsuspend.isra.0")
    reads = body(72, One((MAIN, STEP), BlockedCall(0, "recvfrom", (3,)), wchan="wait_woken"), parent=71)
    found = told(body(70, JOINS), guard, reads)
    assert [one.processes[0].ref.pid for one in found.findings if one.kind is Kind.CAUSE] == [72]
    assert causes(told(body(70, JOINS), guard, body(72, WORKS, parent=71))) == set()
