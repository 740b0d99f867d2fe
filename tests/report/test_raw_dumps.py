"""One dump per thread, in the words that every reader of dumps knows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rankscope.formats import pyspy_text
from rankscope.model.evidence.source import Place
from rankscope.model.evidence.stacks import Frame, Local, LoopTask, PythonStacks, PythonThread, Stack
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.report import plain, raw

RANK = Process(
    ProcessRef("node1", 17), Role.RANK, command=("python", "train.py"), executable="/usr/bin/python3", rank=3
)
MAIN = PythonThread(
    17, Stack((Frame("<module>", "train.py", 9), Frame("step", "train.py", 5))), "MainThread", holds_gil=True,
    active=True, locals=(Local(1, "epoch", "2"),),
)  # fmt: skip
WATCH = PythonThread(18, Stack((Frame("poll", "watch.py", 0),)), comm="pt_watchdog")


def test_a_dump_is_laid_out_as_readers_expect_it() -> None:
    """Deepest frame first; a thread that Python has no name for has the kernel's."""
    shown = raw.Shown(
        RANK,
        PythonStacks((MAIN, WATCH), "memory"),
        "3.11.7",
        locals=True,
        source={Place(RANK.ref, "train.py", 5): ("> 5 x",)},
    )
    assert (
        raw.render(shown)
        == """\
Process 17: python train.py
Python v3.11.7 (/usr/bin/python3)
This is rank 3 on node1

Thread 17 (active+gil): "MainThread"
    step (train.py:5)
        Locals:
            epoch: 2
            > 5 x
    <module> (train.py:9)

Thread 18 (idle): "pt_watchdog"
    poll (watch.py)

"""
    )


def test_tasks_of_an_event_loop_follow_the_threads() -> None:
    """In the same layout, as threads that nothing runs, so that readers of dumps read them too."""
    task = LoopTask("Task-2", Stack((Frame("move", "train.py", 31), Frame("acquire", "locks.py", 113))), 17, "Lock")
    text = raw.render(raw.Shown(RANK, PythonStacks((WATCH,), "memory", loop_tasks=(task,))))
    assert text.endswith('Thread 0x0 (idle): "task Task-2"\n    acquire (locks.py:113)\n    move (train.py:31)\n\n')


def test_tasks_that_were_not_read_are_counted() -> None:
    """Of many only some are read; readers of dumps pass the line over."""
    text = raw.render(raw.Shown(RANK, PythonStacks((MAIN, WATCH), "memory", tasks_left_out=44)))
    assert text.endswith("\n\ntasks of event loops that were not read: 44\n")
    whole = raw.render(raw.Shown(RANK, PythonStacks((MAIN, WATCH), "memory")))
    assert list(pyspy_text.read(text)) == list(pyspy_text.read(whole))


def test_a_process_without_stacks_says_so() -> None:
    assert raw.render(raw.Shown(RANK, None)).endswith("\nno stacks: see the reasons below\n")


@given(st.text())
def test_nothing_that_a_terminal_acts_on_gets_through(text: str) -> None:
    """Whatever name a job chose, it is one line of visible text; what is harmless stays as it is."""
    said = plain.clean(text)
    assert not any(ord(mark) < 32 or 127 <= ord(mark) < 160 for mark in said)
    assert plain.clean(said) == said
    if text.isprintable():
        assert said == text[: len(said)]
