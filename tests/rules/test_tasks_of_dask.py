"""Tasks of dask that wait for other tasks on the threads of their worker."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

STACK = """{wait} (distributed/client.py:{line})
products (app/products.py:500)
apply_function_simple (distributed/worker.py:3005)
"""
READS = """read (ssl.py:1099)
fetch (app/products.py:77)
apply_function_simple (distributed/worker.py:3005)
"""


def rules(folder: pathlib.Path, *stacks: str, note: str = "the run never ends\n") -> set[str]:
    (folder / "worker.txt").write_text("\n\n".join(stacks))
    (folder / "notes.txt").write_text(note)
    return {one.rule for one in judge(gather([folder]), 30.0).findings}


@pytest.mark.parametrize(("wait", "line"), [("__next__", 5901), ("result", 401), ("gather", 2500)])
def test_a_task_that_waits_for_tasks_on_the_only_thread_is_told(tmp_path: pathlib.Path, wait: str, line: int) -> None:
    """No thread is left for what it waits for."""
    assert "pool-waits-for-itself" in rules(tmp_path, STACK.format(wait=wait, line=line))


def test_a_thread_at_work_is_left(tmp_path: pathlib.Path) -> None:
    """Another thread of the worker runs a task."""
    assert "pool-waits-for-itself" not in rules(tmp_path, STACK.format(wait="result", line=401), READS)


def test_who_leaves_the_pool_keeps_no_thread(tmp_path: pathlib.Path) -> None:
    """dask's own way to wait in a task."""
    note = "the task calls secede() first; the run never ends\n"
    assert "pool-waits-for-itself" not in rules(tmp_path, STACK.format(wait="result", line=401), note=note)
