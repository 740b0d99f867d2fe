"""Processes of dumps that tell no pid are called by their main thread's number, or by their file."""

from __future__ import annotations

import pathlib

import pytest

from rankscope import pipeline
from rankscope.analysis import commands
from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Diagnosis

PYSTACK = """Traceback for thread {tid} (python) [] (most recent call last):
    (Python) File "/job/train.py", line 20, in <module>
        main()
    (Python) File "/job/train.py", line 9, in {place}
        {place}()
Traceback for thread {other} (python) [] (most recent call last):
    (Python) File "/usr/lib/python3.11/threading.py", line 1002, in _bootstrap
        self._bootstrap_inner()
    (Python) File "/usr/lib/python3.11/queue.py", line 171, in get
        self.not_empty.wait()
"""
GDB = """
Thread 2 (Thread 0x7f1 (LWP {other}) "python"):
#0  0x01 in poll () from /lib/libc.so.6
#1  0x02 in start_thread () from /lib/libc.so.6
Thread 1 (Thread 0x7f0 (LWP {tid}) "python"):
#0  0x01 in sleep () from /lib/libc.so.6
#1  0x02 in __libc_start_main () from /lib/libc.so.6
#2  0x03 in _start ()
"""
EU_STACK = "TID {tid}:\n#0  0x01 clock_nanosleep\n#1  0x02 _start\nTID {other}:\n#0  0x01 poll\n"
PY_SPY = (
    'Thread 0x7F0 (idle): "MainThread"\n    {place} (train.py:7)\n    main (train.py:9)\n    <module> (train.py:20)\n'
)


def judged(folder: pathlib.Path, dump: str, names: tuple[str, ...]) -> Diagnosis:
    for number, name in enumerate(names):
        place = "load_features" if number == 2 else "all_reduce"
        body = dump.format(tid=7900 + number, other=8900 + number, place=place)
        (folder / name).write_text(
            body.replace(
                '/job/train.py", line 9, in all_reduce',
                '/torch/distributed/distributed_c10d.py", line 9, in all_reduce',
            ).replace("all_reduce (train.py", "all_reduce (torch/distributed/distributed_c10d.py")
        )
    snapshot = gather([folder])
    return commands.of_files(pipeline.judge(snapshot), "")


@pytest.mark.parametrize("dump", [PYSTACK, GDB, EU_STACK])
def test_the_main_thread_has_the_number_of_its_process(dump: str, tmp_path: pathlib.Path) -> None:
    """A debugger prints threads; the first of them, or the one that began in the program, is the process."""
    (tmp_path / "rank_2.txt").write_text(dump.format(tid=7961, other=7994, place="f"))
    assert [(one.ref.pid, one.ref.started, one.rank) for one in gather([tmp_path]).processes] == [(7961, 0, 2)]


def test_two_files_with_one_number_keep_none(tmp_path: pathlib.Path) -> None:
    """In two containers both are 41: neither is known by it."""
    for rank in range(2):
        (tmp_path / f"rank_{rank}.txt").write_text(PYSTACK.format(tid=41, other=42, place="f"))
    assert not any(one.ref.numbered for one in gather([tmp_path]).processes)


def test_a_process_without_a_number_is_named_by_its_file(tmp_path: pathlib.Path) -> None:
    """No number of ours stands in a title or a command."""
    told = judged(tmp_path, PY_SPY, ("alpha.txt", "beta.txt", "gamma.txt", "delta.txt"))
    assert told.verdict is not None
    assert "gamma" in told.verdict.title
    assert str(told.next[0]) == "rankscope stacks pid:PID --source   # of gamma while it runs"
    assert not any("pid:3" in str(step) or "process 3" in str(step) for step in told.next)


def test_a_command_about_a_rank_without_a_number_asks_for_the_rank(tmp_path: pathlib.Path) -> None:
    told = judged(tmp_path, PY_SPY, ("rank_0.txt", "rank_1.txt", "rank_2.txt", "rank_3.txt"))
    assert str(told.next[0]) == "rankscope stacks pid:PID --source   # of rank 2 while it runs"


def test_ranks_that_only_spoke_are_ranks_of_the_job(tmp_path: pathlib.Path) -> None:
    """A console of torchrun has no process of its own, but each of its lines tells the rank; the reasons call it so."""
    lines = (
        'Traceback (most recent call last):\n  File "/job/train.py", line 8, in <module>\n    step()\n'
        '  File "/job/train.py", line 6, in step\n    dist.{call}(t)\n'
        '  File "/x/torch/distributed/distributed_c10d.py", line 3252, in {call}\n    work.wait()\n'
        "RuntimeError: Timed out waiting 8000ms for recv operation to complete\n"
    )
    text = "".join(
        f"[rank{rank}]: {line}\n"
        for rank in range(4)
        for line in lines.format(call="barrier" if rank == 1 else "all_reduce").splitlines()
    )
    (tmp_path / "mis.log").write_text(text)
    told = pipeline.judge(gather([tmp_path]))
    assert (str(told.ranks), told.world_size) == ("0-3", 4)
    assert not any(reason.text.startswith("mis") for one in told.findings for reason in one.because)
