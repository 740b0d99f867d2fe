"""A library of another MPI than the launcher's finds none of its messages: each process greets as the only one of its world."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge


def judged(folder: Path, text: str) -> set[str]:
    """The classes that are named for this text."""
    (folder / "shell.txt").write_text(text)
    return {finding.cls for finding in judge(gather([folder])).findings}


@pytest.mark.parametrize(
    "text",
    [
        "$ srun --mpi=pmi2 -n 2 ./hello\nHello from rank 0 of 1 on node-1\nHello from rank 0 of 1 on node-2\n",
        "$ flux run -n2 ./hello\nHello from host n7, rank 0 out of 1 tasks\nHello from host n8, rank 0 out of 1 tasks\n",
        "$ jsrun -n 2 ./hello\nThis is process 0/1.\nThis is process 0/1.\n",
        "$ mpirun -n 2 python ask.py\n0 1\n0 1\n",
    ],
)
def test_processes_that_are_each_alone(text: str, tmp_path: Path) -> None:
    assert "version-mismatch" in judged(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "$ srun -n 2 ./hello\nHello from rank 0 of 2 on node-1\nHello from rank 1 of 2 on node-1\n",
        "$ srun -n 1 ./hello\nHello from rank 0 of 1 on node-1\n$ srun -n 1 ./hello\nHello from rank 0 of 1 on node-1\n",
        "$ srun -n 1 ./train\nstarting rank 0 of 1\nloading the data on rank 0 of 1\n",
    ],
)
def test_worlds_that_are_as_large_as_they_were_asked_to_be(text: str, tmp_path: Path) -> None:
    assert not judged(tmp_path, text)
