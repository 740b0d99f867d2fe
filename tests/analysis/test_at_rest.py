"""Servers and workers that wait for work tell nothing; those that stand in their task or in a lock do."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.analysis.accounts import accounts
from rankscope.analysis.frames import at_rest
from rankscope.formats.gather import gather
from rankscope.model.evidence.stacks import Frame, Stack
from rankscope.pipeline import case_of, judge

SERVER = [("main", "app/__main__.py", 3), ("Server.run", "uvicorn/server.py", 61), ("run", "asyncio/runners.py", 44)]
WORKER = [("_bootstrap", "threading.py", 973), ("_worker", "concurrent/futures/thread.py", 81)]
GET = [("get", "queue.py", 171), ("wait", "threading.py", 320)]
SITE = "/opt/venv/lib/python3.11/site-packages/"


def _stack(*frames: tuple[str, str, int]) -> Stack:
    return Stack(
        Frame(name, file if file.startswith("/") or "/" not in file else SITE + file, line)
        for name, file, line in frames
    )


@pytest.mark.parametrize(
    ("frames", "rests"),
    [
        (SERVER, True),
        ([*WORKER, *GET], True),
        ([*WORKER, ("transform", "/home/me/train.py", 7), ("wait", "threading.py", 320)], False),
        ([*WORKER, ("__enter__", "multiprocessing/synchronize.py", 95)], False),
        ([("main", "/home/me/train.py", 7), *GET], False),
    ],
    ids=["server", "worker", "in its task", "in a lock", "a program of its own"],
)
def test_who_rests(frames: list[tuple[str, str, int]], rests: bool) -> None:
    assert at_rest(_stack(*frames)) is rests


POOL = """Process {pid}: python -m celery -A tasks worker
Python v3.11.4 (/usr/bin/python3.11)

Thread {pid} (idle): "MainThread"
    {leaf}
    SimpleQueue.get_payload (billiard/queues.py:399)
    Worker._make_recv_method.<locals>._recv (billiard/pool.py:506)
    Worker._make_protected_receive.<locals>.receive (billiard/pool.py:534)
    Worker.workloop (billiard/pool.py:357)
    BaseProcess.run (billiard/process.py:115)
    Popen._launch (billiard/popen_fork.py:77)
    ForkProcess._Popen (billiard/context.py:331)

"""


def test_of_an_idle_pool_one_reads_and_the_others_wait_their_turn(tmp_path: Path) -> None:
    turn = POOL.format(pid=12, leaf="SemLock.__enter__ (billiard/synchronize.py:115)")
    reads = POOL.format(pid=13, leaf="Connection._recv (billiard/connection.py:432)")
    (tmp_path / "workers.txt").write_text(turn + reads)
    assert judge(gather([tmp_path])).verdict is None


def test_a_worker_that_waits_its_turn_while_nobody_reads_may_hang(tmp_path: Path) -> None:
    (tmp_path / "workers.txt").write_text(POOL.format(pid=12, leaf="SemLock.__enter__ (billiard/synchronize.py:115)"))
    verdict = judge(gather([tmp_path])).verdict
    assert verdict is not None
    assert verdict.cls == "fork-with-threads"


BACKWARD = """Process {pid}: python train.py
Python v3.11.4 (/usr/bin/python3.11)

Thread {pid} (active): "MainThread"
{inner}    _engine_run_backward (torch/autograd/graph.py:1113)
    backward (torch/_tensor.py:623)
    step (train.py:14)
    <module> (train.py:45)

"""


def test_the_backward_pass_is_one_place_however_deep_one_looks(tmp_path: Path) -> None:
    """A rank seen in what the backward pass starts by itself stands nowhere else than one seen in Python only."""
    native = "    sgemm_kernel (libopenblas.so)\n    c10d::ops::allreduce_CPU (libtorch_cpu.so)\n"
    (tmp_path / "ranks.txt").write_text(
        "".join(BACKWARD.format(pid=pid, inner=native * (pid == 3)) for pid in (1, 2, 3))
    )
    causes = [one for one in judge(gather([tmp_path])).findings if one.rule == "ranks-stand-apart"]
    assert causes == []


LOOKED = """Process 7: python train.py
Python v3.11.4 (/usr/bin/python3.11)

Thread 7 (idle): "MainThread"
    all_reduce (torch/distributed/distributed_c10d.py:2501)
    step (train.py:{line})
    <module> (train.py:45)

"""


@pytest.mark.parametrize(("lines", "moves"), [((14, 14), False), ((14, 20), True)])
def test_who_stands_at_another_line_later_has_moved(tmp_path: Path, lines: tuple[int, int], moves: bool) -> None:
    (tmp_path / "looks.txt").write_text("".join(LOOKED.format(line=line) for line in lines))
    assert [one.moved for one in accounts(case_of(gather([tmp_path]))) if one.seen] == [moves]
