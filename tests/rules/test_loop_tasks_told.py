"""What rules say of event loops whose tasks wait: the circle, or the task whose wait nobody ends."""

from __future__ import annotations

import dataclasses

from test_live_rules import LIB, MAIN, Body, job, ranks, said

from rankscope.analysis.merged import sections
from rankscope.model.diagnosis import Certainty
from rankscope.model.evidence.blocked import Blocked, BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.sockets import Socket, Sockets
from rankscope.model.evidence.stacks import Frame, LoopTask, PythonStacks, PythonThread, Stack, Trust
from rankscope.model.snapshot import Snapshot
from rankscope.pipeline import case_of

ONCE = Frame("_run_once", f"{LIB}/asyncio/base_events.py", 1890)
LOOP = Stack([MAIN, ONCE, Frame("select", f"{LIB}/selectors.py", 468)])
ENTER = Frame("__aenter__", f"{LIB}/asyncio/locks.py", 14)
ACQUIRE = Frame("acquire", f"{LIB}/asyncio/locks.py", 113)
GET = Frame("get", f"{LIB}/asyncio/queues.py", 158)


def crossing(name: str, line: int, on: int) -> LoopTask:
    return LoopTask(name, Stack([Frame("move", "/job/train.py", line), ENTER, ACQUIRE]), 72, "Lock", (on,))


CROSSED = (crossing("Task-2", 31, 1), crossing("Task-3", 33, 0))


def loop_of(
    *tasks: LoopTask, runs: bool = False, still_s: float = 99.0, peers_s: float = 99.0, left_out: int = 0
) -> Snapshot:
    """Rank 2 waits in its event loop, which now and then runs if ``runs``; the others wait for it."""
    main = PythonThread(72, LOOP, "MainThread", Trust.EXACT)
    stacks = PythonStacks((main,), "test", loop_tasks=tasks, tasks_left_out=left_out)
    odd = Body(72, None, rank=2, more=(stacks,), wchan="ep_poll", still_s=still_s, cpu_s=0.01 if runs else 0.0)
    return job(*ranks(odd, still_s=peers_s))


def test_tasks_that_wait_for_each_other_are_the_cause() -> None:
    """Both lines are in the finding, and the rank whose loop it is."""
    found = said(loop_of(*CROSSED), "tasks-crosswise")
    assert found is not None
    assert (found.cls, set(found.ranks), found.certainty) == ("lock-order-deadlock", {2}, Certainty.LIKELY)
    assert "train.py:31" in found.title
    assert "train.py:33" in found.title
    assert "a Lock that task Task-3 holds" in found.because[0].text


def test_a_loop_that_ticks_on_is_no_excuse() -> None:
    """Its thread runs, but who waits for it has stood still for long."""
    found = said(loop_of(*CROSSED, runs=True), "tasks-crosswise")
    assert found is not None
    assert found.certainty is Certainty.LIKELY


def test_what_is_young_is_at_most_possible() -> None:
    """The same circle at all looks that met the loop waiting, and nobody who has waited for long."""
    young = loop_of(*CROSSED, runs=True, peers_s=0.0)
    for snapshot in (young, dataclasses.replace(young, sweeps=young.sweeps[:1])):
        found = said(snapshot, "tasks-crosswise")
        assert found is not None
        assert found.certainty is Certainty.POSSIBLE


def test_a_look_at_a_loop_that_was_at_work_takes_nothing_back() -> None:
    """Its tasks could not be read just then; what the other look showed still holds."""
    shown = loop_of(*CROSSED)
    first, last = shown.sweeps
    working = PythonStacks((PythonThread(72, Stack([MAIN]), "MainThread"),), "test")
    items = tuple(dataclasses.replace(one, record=working) if isinstance(one.record, PythonStacks) and one.process.pid == 72
                  else one for one in last.items)  # fmt: skip
    snapshot = dataclasses.replace(shown, sweeps=(first, dataclasses.replace(last, items=items)))
    assert said(snapshot, "tasks-crosswise") is not None


def test_tasks_are_shown_among_the_stacks() -> None:
    """Each part that tasks play is a tree of its own, behind the threads."""
    titles = [section.title for section in sections(case_of(loop_of(*CROSSED)), lambda _: True)]
    assert titles == ["main thread", "task Task-*"]


def test_a_limit_or_a_holder_that_goes_on_is_no_deadlock() -> None:
    """One of the two has set itself a time limit; or the holder sleeps."""
    limited = dataclasses.replace(CROSSED[1], timed=True)
    assert said(loop_of(CROSSED[0], limited), "tasks-crosswise") is None
    sleeps = LoopTask("Task-3", Stack([Frame("sleep", f"{LIB}/asyncio/tasks.py", 665)]), 72, "Future")
    assert said(loop_of(CROSSED[0], sleeps), "tasks-crosswise") is None


def test_a_holder_that_was_not_read_may_give_a_semaphore_back() -> None:
    """Of very many tasks only some are read; a lock has one holder all the same."""
    both = tuple(dataclasses.replace(one, awaits="Semaphore") for one in CROSSED)
    assert said(loop_of(*both), "tasks-crosswise") is not None
    assert said(loop_of(*both, left_out=3), "tasks-crosswise") is None
    assert said(loop_of(*CROSSED, left_out=3), "tasks-crosswise") is not None


def takes_two(name: str, on: int) -> LoopTask:
    return LoopTask(name, Stack([Frame("answer", "/job/train.py", 36), GET]), 72, "Future", (on,))


def test_a_queue_that_only_its_takers_fill_counts_while_a_caller_waits() -> None:
    """Without one it is a server at rest: the next call may put something into its queue."""
    serves = Sockets((Socket(11, "tcp", "127.0.0.1:80", "127.0.0.1:999", peer_inode=12),))
    reads = (
        Blocked((BlockedCall(70, "recvfrom", (5,)),)),
        OpenFiles((OpenFile(5, "socket:[12]", "rw"),)),
        Sockets((Socket(12, "tcp", "127.0.0.1:999", "127.0.0.1:80", peer_inode=11),)),
    )

    def server(*asks: object, still_s: float = 99.0) -> Snapshot:
        main = PythonThread(72, LOOP, "MainThread", Trust.EXACT)
        pair = (takes_two("Task-2", 1), takes_two("Task-3", 0))
        body = Body(
            72, None, rank=2, more=(PythonStacks((main,), "test", loop_tasks=pair), serves), wchan="ep_poll", cpu_s=0.01
        )
        return job(body, Body(70, Stack([MAIN]), rank=0, more=asks, still_s=still_s))

    found = said(server(*reads), "tasks-crosswise")
    assert found is not None
    assert (found.cls, found.certainty) == ("lock-order-deadlock", Certainty.LIKELY)
    assert "only such tasks put something back" in found.because[0].text
    assert said(server(), "tasks-crosswise") is None
    assert said(server(*reads, still_s=1.0), "tasks-crosswise") is None


def test_the_task_that_nobody_wakes_is_named() -> None:
    """Not the line that started the loop, but the one at which the task is suspended."""
    gathers = LoopTask("Task-1", Stack([Frame("collect", "/job/train.py", 20)]), 72, "_GatheringFuture", (1,))
    gets = LoopTask("Task-2", Stack([Frame("merge", "/job/train.py", 25), GET]), 72, "Future")
    found = said(loop_of(gathers, gets), "rank-in-user-code")
    assert found is not None
    assert "in merge (train.py:25)" in found.title
    assert any("task Task-2 of its event loop awaits a queue" in reason.text for reason in found.because)


def test_without_tasks_the_line_that_started_the_loop_is_named() -> None:
    """As where the tasks could not be read."""
    found = said(loop_of(), "rank-in-user-code")
    assert found is not None
    assert "in main (train.py:40)" in found.title
