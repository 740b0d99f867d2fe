"""Several processes in one console are told apart."""

from __future__ import annotations

import pathlib

from rankscope.formats.gather import gather
from rankscope.model.evidence.stacks import PythonStacks
from rankscope.pipeline import judge

PLACES = {0: "all_reduce", 1: "all_reduce", 2: "load_features", 3: "all_reduce"}
FILES = {"all_reduce": "torch/distributed/distributed_c10d.py", "load_features": "train.py"}


def py_spy(rank: int, pid: int = 7959) -> str:
    place = PLACES[rank]
    return (
        f"Process {pid + rank}: python train.py\nPython v3.11.7 (/usr/bin/python3.11)\n\n"
        f'Thread {pid + rank} (idle): "MainThread"\n    {place} ({FILES[place]}:9)\n    train (train.py:15)\n'
        "    <module> (train.py:20)\n"
    )


def faulthandler(rank: int) -> str:
    """A loop of gloo's store beside the main thread, which comes last."""
    place = PLACES[rank]
    return (
        f"Thread 0x00007f{rank}e27 (most recent call first):\n"
        '  File "/usr/lib/python3.11/threading.py", line 1002 in _bootstrap\n\n'
        f"Current thread 0x00007f{rank}b80 (most recent call first):\n"
        f'  File "/x/{FILES[place]}", line 9 in {place}\n  File "/x/train.py", line 15 in train\n'
        '  File "/x/train.py", line 20 in <module>\n'
    )


def behind(prefix: str, text: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in text.splitlines())


def test_torchruns_prefix_tells_the_rank_on_one_node(tmp_path: pathlib.Path) -> None:
    """Each local rank is one process."""
    text = "".join(behind(f"[default{rank}]:", py_spy(rank)) for rank in range(4))
    (tmp_path / "console.log").write_text(text)
    snapshot = gather([tmp_path])
    assert sorted((one.rank, one.ref.pid) for one in snapshot.processes) == [(rank, 7959 + rank) for rank in range(4)]  # type: ignore[type-var]
    told = judge(snapshot)
    assert told.verdict is not None
    assert (told.verdict.cls, str(told.verdict.ranks)) == ("rank-stuck-in-user-code", "2")


def test_two_nodes_have_each_local_rank_twice(tmp_path: pathlib.Path) -> None:
    """There it is no rank of the job."""
    for node in range(2):
        text = "".join(behind(f"[default{rank}]:", py_spy(rank, 7959 + 100 * node)) for rank in range(2))
        (tmp_path / f"node_{node}.log").write_text(text)
    assert {one.rank for one in gather([tmp_path]).processes} == {None}


def test_dumps_without_pids_are_as_many_processes_as_main_threads(tmp_path: pathlib.Path) -> None:
    """``faulthandler.register`` of all ranks writes into one console of torchrun."""
    (tmp_path / "usr1.log").write_text("".join(map(faulthandler, range(4))))
    snapshot = gather([tmp_path])
    held = [item.record for item in snapshot.sweeps[0].items if isinstance(item.record, PythonStacks)]
    assert [len(one.threads) for one in held] == [2, 2, 2, 2]
    assert len({one.label for one in snapshot.processes}) == 4


def test_two_dumps_of_one_process_are_two_looks(tmp_path: pathlib.Path) -> None:
    """The main thread is the same."""
    (tmp_path / "usr1.log").write_text(faulthandler(0) * 2)
    snapshot = gather([tmp_path])
    assert (len(snapshot.processes), len(snapshot.sweeps)) == (1, 2)


CHILD = """Current thread 0x00007f0b80 (most recent call first):
  File "/x/train.py", line {line} in feed
  File "/usr/lib/python3.11/multiprocessing/process.py", line 314 in _bootstrap
  File "/usr/lib/python3.11/multiprocessing/popen_fork.py", line 71 in _launch
  File "/x/train.py", line 20 in <module>
"""


def test_forked_children_have_the_main_thread_of_their_parent(tmp_path: pathlib.Path) -> None:
    """``pkill -USR1`` of a program and its children, all with one standard error: nobody has moved."""
    (tmp_path / "usr1.log").write_text(CHILD.format(line=4) + CHILD.format(line=4) + faulthandler(0))
    snapshot = gather([tmp_path])
    assert (len(snapshot.processes), len(snapshot.sweeps)) == (3, 1)


def test_a_forked_child_alone_may_have_been_seen_twice(tmp_path: pathlib.Path) -> None:
    """With a file of its own, as ``dump_traceback_later`` has where each worker opens one."""
    (tmp_path / "worker.log").write_text(CHILD.format(line=4) + CHILD.format(line=7))
    snapshot = gather([tmp_path])
    assert (len(snapshot.processes), len(snapshot.sweeps)) == (1, 2)
