"""A program at its end waits for its threads and children: rightly for those at work, in vain for those that it would feed."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.analysis import order
from rankscope.formats.gather import gather
from rankscope.pipeline import judge

THREAD = "    run (threading.py:982)\n    _bootstrap_inner (threading.py:1045)\n    _bootstrap (threading.py:1002)\n"
HEAD = "Process 41: python work.py\nPython v3.11.7 (python)\n\n"
FED = "    wait (threading.py:327)\n    get (queue.py:171)\n    drain (work.py:5)\n"
SHUTDOWN = (
    HEAD + 'Thread 41 (idle): "MainThread"\n    _shutdown (threading.py:1583)\n'
    'Thread 42 ({state}): "sender"\n{inside}' + THREAD + 'Thread 43 (idle): "bar"\n    wait (threading.py:331)\n'
    "    wait (threading.py:629)\n    run (tqdm/_monitor.py:60)\n" + THREAD
)
ASYNCIO = (
    HEAD
    + 'Thread 41 (idle): "MainThread"\n    select (selectors.py:468)\n    run_until_complete (asyncio/base_events.py:640)\n'
    "    close (asyncio/runners.py:73)\n    run (asyncio/runners.py:189)\n    <module> (work.py:66)\n"
    'Thread 42 ({state}): "asyncio_0"\n    take (work.py:23)\n    run (concurrent/futures/thread.py:58)\n'
    "    _worker (concurrent/futures/thread.py:83)\n" + THREAD + 'Thread 43 (idle): "Thread-1 (_do_shutdown)"\n'
    "    _wait_for_tstate_lock (threading.py:1139)\n    join (threading.py:1119)\n"
    "    shutdown (concurrent/futures/thread.py:235)\n    _do_shutdown (asyncio/base_events.py:579)\n" + THREAD
)
UNIT = "     Active: activating (start) since Mon 2024-02-12 01:00:04 UTC; {ago} ago\n   Main PID: 41 (python)\n"
CHILDREN = (
    HEAD + 'Thread 41 (idle): "MainThread"\n    poll (multiprocessing/popen_fork.py:27)\n'
    "    wait (multiprocessing/popen_fork.py:43)\n    join (multiprocessing/process.py:149)\n"
    "    _exit_function (multiprocessing/util.py:357)\n"
)
CHILD = (
    'Process 42: python work.py\nPython v3.11.7 (python)\n\nThread 42 ({state}): "MainThread"\n{inside}'
    "    run (multiprocessing/process.py:108)\n    _bootstrap (multiprocessing/process.py:314)\n"
)
RECEIVES = "    _recv (multiprocessing/connection.py:379)\n    recv (multiprocessing/connection.py:250)\n    serve (work.py:7)\n"
COMPUTES = "    crunch (work.py:4)\n"


def verdict(folder: Path, monkeypatch: pytest.MonkeyPatch, *texts: str) -> str | None:
    monkeypatch.setattr(order, "reads_well", lambda case: True)
    for at, text in enumerate(texts):
        (folder / f"{at}.txt").write_text(text)
    found = judge(gather([folder])).verdict
    return found.cls if found is not None else None


@pytest.mark.parametrize(
    ("state", "inside", "cls"),
    [("idle", FED, "exit-hang"), ("active", COMPUTES, None), ("idle", "    read (socket.py:706)\n" + COMPUTES, None)],
    ids=["waits to be fed", "at work", "waits for somebody else"],
)
def test_a_thread_that_waits_for_items_of_a_program_that_is_over(
    state: str, inside: str, cls: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert verdict(tmp_path, monkeypatch, SHUTDOWN.format(state=state, inside=inside)) == cls


@pytest.mark.parametrize(
    ("state", "ago", "cls"),
    [("idle", "8h", "exit-hang"), ("active", "8h", None), ("idle", "2s", None)],
    ids=["for hours", "at work", "just begun"],
)
def test_a_unit_whose_loop_is_over_and_which_is_not(
    state: str, ago: str, cls: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert verdict(tmp_path, monkeypatch, ASYNCIO.format(state=state), UNIT.format(ago=ago)) == cls


@pytest.mark.parametrize(
    ("state", "inside", "cls"),
    [("idle", RECEIVES, "exit-hang"), ("active", COMPUTES, None)],
    ids=["waits for an order", "at work"],
)
def test_a_child_that_waits_for_orders_of_a_parent_that_joins_it_at_its_end(
    state: str, inside: str, cls: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert verdict(tmp_path, monkeypatch, CHILDREN, CHILD.format(state=state, inside=inside)) == cls


SAYS = "all 40 epochs are done.\n(no prompt since then)\n"


@pytest.mark.parametrize(
    ("state", "inside", "cls"),
    [("idle", FED, "exit-hang"), ("active", COMPUTES, None)],
    ids=["waits to be fed", "at work"],
)
def test_a_thread_that_waits_for_items_where_somebody_says_that_it_lasts(
    state: str, inside: str, cls: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That somebody complains makes what the stacks show no weaker."""
    assert verdict(tmp_path, monkeypatch, SHUTDOWN.format(state=state, inside=inside), SAYS) == cls
