"""Servers and workers that wait for work tell nothing; those that stand in their task or in a lock do."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.analysis.frames import at_rest
from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Kind
from rankscope.model.evidence.stacks import Frame, Stack
from rankscope.pipeline import judge

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


@pytest.mark.parametrize(("pids", "kind"), [((12,), Kind.NOTE), ((12, 13), Kind.CAUSE)], ids=["one", "all"])
def test_workers_that_wait_their_turn_while_nobody_reads_may_hang(
    tmp_path: Path, pids: tuple[int, ...], kind: Kind
) -> None:
    """Of one worker alone the words are those of an idle pool, in which somebody else reads."""
    turn = "SemLock.__enter__ (billiard/synchronize.py:115)"
    (tmp_path / "workers.txt").write_text("".join(POOL.format(pid=pid, leaf=turn) for pid in pids))
    (found,) = judge(gather([tmp_path])).findings
    assert (found.cls, found.kind) == ("fork-with-threads", kind)


RANK = """Process {pid}: python train.py
Python v3.11.4 (/usr/bin/python3.11)

Thread {pid} (active): "MainThread"
{inner}    {where}
    step (train.py:{line})
    <module> (train.py:45)

"""
BACKWARD = "_engine_run_backward (torch/autograd/graph.py:1113)\n    backward (torch/_tensor.py:623)"
ADAM = "_single_tensor_adam (torch/optim/adam.py:545)\n    step (torch/optim/adam.py:249)"
STARTS = "    pthread_cond_signal (libc.so.6)\n    c10d::ops::allreduce_CPU (libtorch_cpu.so)\n"
COMPUTES = "    mkl_blas_def_sgemm_kernel_0_zen (libtorch_cpu.so)\n"


@pytest.mark.parametrize(
    "ranks",
    [[("", BACKWARD), (STARTS, BACKWARD), ("", BACKWARD)], [(COMPUTES, BACKWARD), (COMPUTES, ADAM), (COMPUTES, ADAM)]],
    ids=["deeper in one place", "each computes"],
)
def test_ranks_at_work_do_not_stand_apart(tmp_path: Path, ranks: list[tuple[str, str]]) -> None:
    for pid, (inner, where) in enumerate(ranks, 1):
        text = RANK.format(pid=pid, inner=inner, where=where, line=14 if where == BACKWARD else 15)
        (tmp_path / f"rank{pid}.txt").write_text(text)
    found = judge(gather([tmp_path])).findings
    assert [one for one in found if one.rule == "ranks-stand-apart"] == []
