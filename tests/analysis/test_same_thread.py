"""Which thread of one look is which of another: dumps of text number their threads by names of their own, or not at all."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.analysis.case import Member
from rankscope.analysis.identity import again
from rankscope.analysis.native_work import computes_natively
from rankscope.analysis.progress import advances
from rankscope.analysis.standing import stand
from rankscope.formats.gather import gather
from rankscope.model.evidence.files import OpenFiles
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.pipeline import case_of

TWO = '{head} (most recent call first):\n  File "/job/train.py", line {line} in {where}\n  File "/job/train.py", line 90 in run\n'
TIMEOUT = "Timeout (0:01:00)!\n"


def thread(line: int, **who: object) -> PythonThread:
    return PythonThread(who.pop("tid", None), Stack([Frame("f", "/job/train.py", line)]), **who)  # type: ignore[arg-type]


@pytest.mark.parametrize("who", [{"tid": 7}, {"ident": "0x7f0"}, {"name": "MainThread"}, {}])
def test_a_thread_is_known_again_by_what_only_it_bears(who: dict[str, object]) -> None:
    others = (thread(3, tid=8), thread(4, ident="0x7f1"), thread(5, name="Thread-1"))
    mine = thread(9, **who)
    assert again(PythonStacks((*others, mine), "test"), thread(1, **who)) is mine
    assert again(PythonStacks(others, "test"), thread(1, **who)) is None


@pytest.mark.parametrize("who", [{"name": "worker"}, {}])
def test_threads_that_look_alike_are_not_told_apart(who: dict[str, object]) -> None:
    assert again(PythonStacks((thread(3, **who), thread(4, **who)), "test"), thread(3, **who)) is None


def dumped(tmp_path: pathlib.Path, text: str) -> tuple[bool | None, bool]:
    """Whether the deciding thread of one process, of which this was dumped, has moved, and whether it gets on."""
    (tmp_path / "rank_0.txt").write_text(text)
    (member,) = case_of(gather([tmp_path])).members
    standing = stand(member)
    return standing.moved, advances(standing)


def of_two(*threads: str) -> str:
    return TIMEOUT + "\n".join(threads)


MAIN = TWO.format(head="Thread 0x00007f01", line=12, where="step")
OTHER = TWO.format(head="Thread 0x00007f02", line=30, where="watch")


def test_two_threads_of_one_dump_are_no_two_looks(tmp_path: pathlib.Path) -> None:
    assert dumped(tmp_path, of_two(MAIN, OTHER)) == (None, False)


def test_the_same_dump_twice_shows_that_nothing_moved(tmp_path: pathlib.Path) -> None:
    assert dumped(tmp_path, of_two(MAIN, OTHER) + "\n" + of_two(MAIN, OTHER)) == (False, False)


def test_another_function_at_the_second_dump_is_progress(tmp_path: pathlib.Path) -> None:
    """The other thread's place is not compared with it."""
    later = TWO.format(head="Thread 0x00007f01", line=14, where="save")
    assert dumped(tmp_path, of_two(MAIN, OTHER) + "\n" + of_two(later, OTHER)) == (True, True)


@pytest.mark.parametrize("text", [
    'Thread 0x7F01 (idle): "MainThread"\n    step (train.py:5)\n    main (train.py:9)\n'
    'Thread 0x7F02 (idle): "Thread-1"\n    watch (train.py:7)\n',
    "main (train.py:9);step (train.py:5) 1\nmain (train.py:9);watch (train.py:7) 1\n",
])  # fmt: skip
def test_threads_without_numbers_are_no_looks_at_one(tmp_path: pathlib.Path, text: str) -> None:
    assert dumped(tmp_path, text) == (None, False)


@pytest.mark.parametrize(("who", "runs"), [({"ident": "0x7f01"}, True), ({"name": "MainThread"}, True), ({}, False)])
def test_a_call_that_runs_without_the_gil_is_known_by_what_its_dump_tells(who: dict[str, object], runs: bool) -> None:
    """A dump that is not numbered like the kernel's threads names the thread in its own way."""
    process = Process(ProcessRef("n1", 70, 1), Role.RANK)
    looks: tuple[dict[type, object], ...] = tuple(
        {Threads: Threads((KernelThread(70, "python", "R", voluntary=3, cpu_s=float(at)),), uptime_s=9.0 + at),
         PythonStacks: PythonStacks((thread(9, **who), *([] if runs else [thread(5)])), "test"), OpenFiles: OpenFiles(())}
        for at in (0, 1)
    )  # fmt: skip
    assert computes_natively(stand(Member(process, looks, (True, True)))) is runs
