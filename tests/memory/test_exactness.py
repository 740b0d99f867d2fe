"""A reading is called exact only when the thread did not run meanwhile; whatever it does, nothing wrong is called exact."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from standing import standing

from rankscope.memory import tasks
from rankscope.memory.tasks import Task
from rankscope.model.evidence.stacks import PythonStacks, PythonThread, Stack, Trust
from rankscope.model.process import ProcessRef
from rankscope.probe.engine import StackOptions
from rankscope.probe.engines import memory

READS = 1000


def possible_when_dozing(stack: Stack) -> bool:
    """Whether the shape ``dozing`` can ever stand like this."""
    inner = [frame for frame in stack if frame.function == "_doze"]
    callers = {frame.line for frame in inner[:-1]}
    return [frame.function for frame in stack[:2]] == ["<module>", "dozing"] and len(callers) <= 1 and (
        len(stack) - len(inner) == 2
    )  # fmt: skip


def possible_when_busy(stack: Stack) -> bool:
    """Whether the shape ``busy`` can ever stand like this: each function calls the next one, from its third line."""
    inner = [frame for frame in stack if frame.file.startswith("busy_")]
    letters = [ord(frame.function[-1]) - ord("a") for frame in inner]
    return (
        [frame.function for frame in stack[:2]] == ["<module>", "busy"]
        and all((a + 1) % 8 == b for a, b in zip(letters, letters[1:]))
        and all(frame.line == 3 for frame in inner[:-1])
    )


@pytest.mark.parametrize(
    ("shape", "possible"), [("dozing", possible_when_dozing), ("busy", possible_when_busy)], ids=["dozing", "busy"]
)
def test_no_wrong_stack_is_called_exact(shape: str, possible: object) -> None:
    """GIVEN a program that changes its stack all the time, WHEN it is read 1,000 times, THEN no exact one is wrong."""
    engine = memory.make()
    trusted = 0
    with standing(shape) as target:
        for _ in range(READS):
            answer = engine.stacks(ProcessRef("here", target.pid), None, None, StackOptions(locals=False))
            if not isinstance(answer, PythonStacks):
                continue
            for thread in answer.threads:
                if thread.tid == target.pid and thread.trust is Trust.EXACT:
                    trusted += 1
                    assert possible(thread.stack), thread.stack  # type: ignore[operator]
    assert trusted > 0 or shape == "busy"


def test_a_thread_that_never_sleeps_is_never_exact() -> None:
    """Its stack may be right, but nobody can know."""
    with standing("busy") as target:
        engine = memory.make()
        answers = [engine.stacks(ProcessRef("here", target.pid), None, None, StackOptions()) for _ in range(50)]
    trusts = [main_of(each, target.pid).trust for each in answers if isinstance(each, PythonStacks)]
    assert trusts.count(Trust.LIKELY) > len(trusts) // 2


def main_of(stacks: PythonStacks, tid: int) -> PythonThread:
    """The thread with this id."""
    return next(thread for thread in stacks.threads if thread.tid == tid)


def test_a_thread_that_has_not_run_is_not_read_again() -> None:
    """The second look at a process that stands still gives back the very record of the first."""
    with standing("plain", "generators") as target:
        engine = memory.make()
        ref = ProcessRef("here", target.pid)
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            first = engine.stacks(ref, None, None, StackOptions())
            assert isinstance(first, PythonStacks)
            if all(thread.trust is Trust.EXACT for thread in first.threads):
                break
        assert engine.stacks(ref, None, first, StackOptions()) is first


def test_only_a_thread_that_was_switched_has_run() -> None:
    """Equal switch counts and no R at either look prove sleep; a missing count proves nothing."""
    asleep = Task(1, 1, "S", 5, 7)
    assert tasks.slept(asleep, asleep)
    assert tasks.slept(Task(1, 1, "D", 5, 7), Task(1, 1, "D", 5, 7))
    assert not tasks.slept(asleep, Task(1, 1, "S", 6, 7))
    assert not tasks.slept(asleep, Task(1, 1, "S", 5, 8))
    assert not tasks.slept(asleep, Task(1, 1, "R", 5, 7))
    assert not tasks.slept(Task(1, 1, "R", 5, 7), asleep)
    assert not tasks.slept(Task(1, 1, "S", -1, -1), Task(1, 1, "S", -1, -1))
    assert not tasks.slept(None, asleep)


def test_a_status_file_is_read_for_state_counts_inner_id_and_name() -> None:
    """The id inside the thread's own pid namespace is the last of NSpid."""
    raw = b"Name:\tx\nState:\tD (disk sleep)\nNSpid:\t4711\t23\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t7\n"
    assert tasks.parse(4711, raw) == Task(4711, 23, "D", 5, 7, "x")
    assert tasks.parse(4711, b"") == Task(4711, 4711, "", -1, -1)


def test_an_earlier_look_is_brought_up_to_date() -> None:
    """Threads that came since it was taken are looked at now; those that have gone are dropped."""
    with standing("plain", "generators") as target:
        looked = tasks.read("/proc", target.pid)
        known = {target.pid: looked[target.pid], 99_999_999: Task(99_999_999, 1, "S", 1, 1)}
        renewed = tasks.renewed("/proc", target.pid, known)
        assert renewed.keys() == looked.keys()
        assert renewed[target.pid] is known[target.pid]
        assert tasks.renewed("/proc", target.pid, looked) == looked


CHURN = """
import threading, time
print("ready", flush=True)
while True:
    threads = [threading.Thread(target=time.sleep, args=(0.0003,)) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
"""


def test_threads_that_come_and_go_do_not_hide_the_others() -> None:
    """The interpreter relinks its list of threads all the time; the main thread is found and right all the same."""
    child = subprocess.Popen([sys.executable, "-c", CHURN], stdout=subprocess.PIPE)
    assert child.stdout is not None
    try:
        child.stdout.readline()
        engine = memory.make()
        answers = [engine.stacks(ProcessRef("here", child.pid), None, None, StackOptions()) for _ in range(300)]
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    read = [each for each in answers if isinstance(each, PythonStacks)]
    assert len(read) >= 298
    for each in read:
        main = main_of(each, child.pid)
        assert main.trust is not Trust.EXACT or main.stack[0].function == "<module>"
