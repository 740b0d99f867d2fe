"""A forked child that is idle where a thread of its parent is at home: that lets go of things in the parent alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Finding
from rankscope.pipeline import case_of
from rankscope.rules.told import child_stands_beside_threads

CHILD = """Process 812: python -m server
Python v3.11.7 (/usr/bin/python3.11)

Thread 812 ({state}): "MainThread"
    {leaf}
    handle (server/work.py:20)
    {fork}
    serve (server/main.py:61)
    <module> (server/__main__.py:5)
"""
PARENT = """Process 800: python -m server
Python v3.11.7 (/usr/bin/python3.11)

Thread 800 (idle): "MainThread"
    poll (selectors.py:415)
    serve (server/main.py:{line})
    <module> (server/__main__.py:5)
Thread 803 (idle): "{name}"
    {at}
    _loop ({file}:12)
    run (threading.py:982)
    _bootstrap_inner (threading.py:1045)
    _bootstrap (threading.py:1002)
"""
BUFFERED, POOL, GUNICORN = (
    "lines/buffered.py",
    "_launch (multiprocessing/popen_fork.py:71)",
    "spawn_worker (gunicorn/arbiter.py:589)",
)


def told(folder: Path, fork: str, leaf: str, file: str = BUFFERED, state: str = "idle") -> list[Finding]:
    (folder / "child.txt").write_text(CHILD.format(fork=fork, leaf=leaf, state=state))
    (folder / "parent.txt").write_text(PARENT.format(line=61, name="sender", at=f"send ({file}:30)", file=file))
    return list(child_stands_beside_threads.check(case_of(gather([folder]))))


@pytest.mark.parametrize("fork", [POOL, POOL.replace("multiprocessing", "billiard"), GUNICORN])
@pytest.mark.parametrize(
    ("leaf", "certainty"), [(f"acquire ({BUFFERED}:44)", "LIKELY"), (f"incr ({BUFFERED}:71)", "POSSIBLE")]
)
def test_a_child_asks_for_what_a_thread_of_its_parent_keeps(
    fork: str, leaf: str, certainty: str, tmp_path: Path
) -> None:
    (found,) = told(tmp_path, fork, leaf)
    assert (found.cls, found.certainty.name) == ("fork-with-threads", certainty)


@pytest.mark.parametrize(
    ("fork", "leaf", "file", "state"),
    [
        (POOL, f"incr ({BUFFERED}:71)", BUFFERED, "active"),
        (POOL, "acquire (lines/other.py:44)", BUFFERED, "idle"),
        ("run (server/threads.py:71)", f"acquire ({BUFFERED}:44)", BUFFERED, "idle"),
        (POOL, f"recv_bytes (multiprocessing/connection.py:216)\n    get ({BUFFERED}:44)", BUFFERED, "idle"),
    ],
    ids=["it runs", "the thread is at home elsewhere", "no child of a fork", "it waits for its next piece of work"],
)
def test_a_child_at_work_or_elsewhere_is_well(fork: str, leaf: str, file: str, state: str, tmp_path: Path) -> None:
    assert not told(tmp_path, fork, leaf, file, state)


LIBRARY = "prometheus_client/registry.py"


def beside(folder: Path, leaf: str, at: str, fork: str = GUNICORN) -> list[Finding]:
    (folder / "child.txt").write_text(CHILD.format(fork=fork, leaf=leaf, state="idle"))
    (folder / "parent.txt").write_text(PARENT.format(line=61, name="sampler", at=at, file="server/sample.py"))
    return list(child_stands_beside_threads.check(case_of(gather([folder]))))


def test_a_child_is_idle_in_the_file_of_a_library_that_a_thread_of_its_parent_uses(tmp_path: Path) -> None:
    (found,) = beside(tmp_path, f"register ({LIBRARY}:40)", f"collect ({LIBRARY}:97)")
    assert (found.cls, found.certainty.name, found.compared) == ("fork-with-threads", "POSSIBLE", True)


@pytest.mark.parametrize(
    ("leaf", "at", "fork"),
    [
        (f"register ({LIBRARY}:40)", "collect (prometheus_client/samples.py:97)", GUNICORN),
        (f"collect ({LIBRARY}:97)", f"collect ({LIBRARY}:97)", GUNICORN),
        ("read_response (redis/connection.py:40)", "send_command (redis/connection.py:97)", GUNICORN),
        ("step (server/sample.py:40)", "_other (server/sample.py:97)", "run (server/threads.py:71)"),
        (f"register ({LIBRARY}:40)", f"collect ({LIBRARY}:97)", "run (server/threads.py:71)"),
    ],
    ids=[
        "another file",
        "where the thread waits, too",
        "it waits for a server",
        "code of its own",
        "no child of a fork",
    ],
)
def test_who_is_elsewhere_or_waits_for_a_peer_lacks_no_lock(leaf: str, at: str, fork: str, tmp_path: Path) -> None:
    assert not beside(tmp_path, leaf, at, fork)
