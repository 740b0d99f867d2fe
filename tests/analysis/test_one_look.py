"""Whole dumps of one moment: what running jobs show now and then is a note, and nothing is guessed by words."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.analysis.weakness import weak
from rankscope.formats.gather import gather
from rankscope.model.diagnosis import ONE_LOOK, Diagnosis, Kind
from rankscope.pipeline import case_of, judge

HEAD = "Process 4101: python worker.py\nPython v3.11.7 (/usr/bin/python3.11)\n\n"
THREAD = (
    'Thread 4101 (idle): "MainThread"\n'
    "    acquire (filelock/_api.py:344)\n"
    "    __enter__ (filelock/_api.py:376)\n"
    "    prepare (worker.py:12)\n"
    "    <module> (worker.py:30)\n"
)
SAID = "the job hangs there for an hour\n"


def _judged(tmp_path: Path, **files: str) -> Diagnosis:
    for name, text in files.items():
        (tmp_path / f"{name}.txt").write_text(text)
    return judge(gather([tmp_path]))


@pytest.mark.parametrize(
    ("files", "doubted"),
    [
        pytest.param({"dump": HEAD + THREAD}, True, id="a whole dump alone"),
        pytest.param({"dump": HEAD + THREAD, "note": SAID}, False, id="and somebody says that it stands"),
        pytest.param({"dump": HEAD + THREAD, "again": HEAD + THREAD}, False, id="looked at twice"),
        pytest.param({"dump": THREAD}, False, id="what somebody quoted"),
    ],
)
def test_a_wait_that_running_jobs_show_needs_a_second_look(
    files: dict[str, str], doubted: bool, tmp_path: Path
) -> None:
    found = _judged(tmp_path, **files)
    (lock,) = (one for one in found.findings if one.rule == "file-lock-unsupported")
    assert (lock.kind is Kind.NOTE and ONE_LOOK in lock.against) is doubted
    assert not doubted or (found.verdict is None and found.evidence_weak)


@pytest.mark.parametrize(("head", "guessed"), [(HEAD, False), ("", True)], ids=["a whole dump", "what somebody quoted"])
def test_nothing_is_guessed_of_whole_dumps(head: str, guessed: bool, tmp_path: Path) -> None:
    """Their words are those of any program that runs; who quotes a thread quotes what tells."""
    frames = "    calc (window.py:10)\n    run (window.py:20)\n"
    said = (
        "in calc, called from Python, at site->wait(): waits for the calculation thread, with the lock of Python\n"
        "calculation thread: wants to call back into Python\n"
    )
    found = _judged(tmp_path, dump=head + 'Thread 4101 (idle): "MainThread"\n' + frames, console=said)
    assert any(one.rule == "like-known-cases" for one in found.findings) is guessed


_ASKS = "    push (worker.py:12)\n    <module> (worker.py:30)\n"


@pytest.mark.parametrize(
    ("frames", "open_"),
    [
        pytest.param("    readinto (socket.py:706)\n" + _ASKS, True, id="for an answer"),
        pytest.param(
            "    wait (threading.py:327)\n    next (multiprocessing/pool.py:861)\n" + _ASKS, True, id="for a result"
        ),
        pytest.param("    read (ssl.py:1130)\n    recv (ssl.py:1263)\n" + _ASKS, True, id="for an answer, encrypted"),
        pytest.param(
            "    wait (threading.py:320)\n    acquire (threading.py:467)\n" + _ASKS, True, id="for a semaphore"
        ),
        pytest.param(
            "".join(f"    {name} (threading.py:690)\n" for name in ("wait", "wait_for", "_wait", "wait")) + _ASKS,
            True,
            id="for the others at a barrier",
        ),
        pytest.param("    accept (socket.py:295)\n" + _ASKS, False, id="ready for whoever comes"),
        pytest.param("    wait (threading.py:327)\n" + _ASKS, False, id="for an event"),
    ],
)
def test_who_waits_for_what_it_asked_for_is_not_called_clean(frames: str, open_: bool, tmp_path: Path) -> None:
    """A server at rest looks like a server that is asked too much; who asks does not look like who is at rest."""
    found = _judged(tmp_path, dump=HEAD + 'Thread 4101 (idle): "MainThread"\n' + frames)
    assert found.verdict is None
    assert found.evidence_weak is open_


_IN_POOL = (
    "    worker (multiprocessing/pool.py:125)\n"
    "    run (multiprocessing/process.py:108)\n"
    "    _bootstrap (multiprocessing/process.py:314)\n"
    "    _launch (multiprocessing/popen_fork.py:71)\n"
    "    __init__ (multiprocessing/popen_fork.py:19)\n"
    "    _Popen (multiprocessing/context.py:281)\n"
    "    start (multiprocessing/process.py:121)\n"
    "    _repopulate_pool_static (multiprocessing/pool.py:329)\n"
)


def test_a_worker_that_a_pool_forked_does_not_wait_for_the_pool(tmp_path: Path) -> None:
    """Below its own frames stand those that its parent had at the fork, in which a pool was made."""
    frames = "    wait (threading.py:327)\n    push (worker.py:12)\n" + _IN_POOL + _ASKS
    (tmp_path / "dump.txt").write_text(HEAD + 'Thread 4101 (idle): "MainThread"\n' + frames)
    assert not weak(case_of(gather([tmp_path])))


SLEEPS = {
    "faulthandler": 'Current thread 0x00007f32be1f5b80 (most recent call first):\n  File "/job/work.py", line 9 in poll\n'
    '  File "/job/work.py", line 12 in <module>\n',
    "pystack": 'Traceback for thread 4101 (python) [] (most recent call last):\n    (Python) File "/job/work.py", line 12, '
    'in <module>\n        poll()\n    (Python) File "/job/work.py", line 9, in poll\n        wait_for(event)\n',
}


@pytest.mark.parametrize("tool", SLEEPS)
def test_one_picture_of_a_thread_that_may_stand_is_not_called_clean(tmp_path: Path, tool: str) -> None:
    (tmp_path / "dump.txt").write_text(SLEEPS[tool])
    case = case_of(gather([tmp_path]))
    assert judge(gather([tmp_path])).verdict is None
    assert weak(case)


def test_a_thread_that_a_tool_saw_run_is(tmp_path: Path) -> None:
    text = (
        'Process 4101: python work.py\nPython v3.11.7 (/usr/bin/python3.11)\n\nThread 4101 (active+gil): "MainThread"\n'
    )
    (tmp_path / "dump.txt").write_text(text + "    poll (work.py:9)\n    <module> (work.py:12)\n")
    assert not weak(case_of(gather([tmp_path])))


def test_nothing_is_guessed_by_the_words_of_one_pystack_dump(tmp_path: Path) -> None:
    head = "Traceback for thread 41 (python) [Has the GIL] (most recent call last):\n"
    frames = ((16, "<module>", "main()"), (15, "main", "cache.get(1)"), (12, "get", "t += sum(range(1000))"))
    lines = (f'    (Python) File "/job/work.py", line {at}, in {name}\n        {code}\n' for at, name, code in frames)
    assert _judged(tmp_path, dump=head + "".join(lines)).verdict is None
