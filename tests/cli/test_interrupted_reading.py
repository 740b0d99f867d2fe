"""A pipe to which nobody writes is told, and Ctrl-C shows what has been read before it."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys

STACK = 'Thread 0x7F0 (idle): "MainThread"\n    {} ({}:5)\n    train (train.py:7)\n    <module> (train.py:9)\n'


def test_a_pipe_that_nobody_writes_to(tmp_path: pathlib.Path) -> None:
    """GIVEN stacks and a named pipe, WHEN nobody writes to it and the reader is interrupted, THEN the stacks are judged."""
    for rank in range(4):
        place = ("load_features", "train.py") if rank == 2 else ("all_reduce", "torch/distributed/distributed_c10d.py")
        (tmp_path / f"rank_{rank}.txt").write_text(STACK.format(*place))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    files = [*sorted(map(str, tmp_path.glob("rank_*"))), str(pipe)]
    command = [sys.executable, "-m", "rankscope", "analyze", *files]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        try:
            waits = child.stderr.readline()
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=60)
        finally:
            child.kill()
    assert waits == f"rankscope: waits for somebody to write to {pipe}\n"
    assert "rank 2" in out
    assert "interrupted: neither it nor what is behind it was read to its end" in " ".join(out.split())
    assert (child.returncode, "interrupted" in err) == (130, True)
