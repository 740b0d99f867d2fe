"""Ctrl-C while a pipe that stays open is read: what came through it is judged, and nobody waits for its other end."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from conftest_cli import Said

from harness.judging import TOOL
from harness.waiting import wait_until
from rankscope.formats.files import BUFFER

STEP = "step 1 of many\n"
TROUBLE = (
    'Traceback (most recent call last):\n  File "a.py", line 3, in f\ntorch.OutOfMemoryError: CUDA out of memory.\n'
)
# One that fits into the buffer, and one that goes through the sieve.
TEXTS = [TROUBLE, STEP * (BUFFER // len(STEP) + 9) + TROUBLE + STEP * 9]


@contextlib.contextmanager
def reading(text: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """The command that has read a text and waits for more of it."""
    ours, theirs = os.pipe()
    try:
        with subprocess.Popen([*TOOL, "analyze", *words], stdin=ours, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, start_new_session=True) as tool:  # fmt: skip
            os.close(ours)
            try:
                rest = text.encode()
                while rest:
                    rest = rest[os.write(theirs, rest) :]
                wait_until(lambda: _all_wait_for_a_pipe(tool.pid), within=60)
                yield tool
            finally:
                tool.kill()
    finally:
        os.close(theirs)


def _all_wait_for_a_pipe(pid: int) -> bool:
    """Whether every thread of a process, and every child of it, waits for what comes through a pipe, and that is empty."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        pids = [str(pid), *file.read().split()]
    threads = [thread for one in pids for thread in pathlib.Path(f"/proc/{one}/task").iterdir()]
    return all("pipe_read" in (thread / "wchan").read_text() for thread in threads)


def interrupted(tool: subprocess.Popen[str]) -> Said:
    tool.send_signal(signal.SIGINT)
    out, err = tool.communicate(timeout=60)
    return Said(tool.returncode, out, err)


@pytest.mark.parametrize("text", TEXTS, ids=["small", "sieved"])
def test_what_came_is_judged(text: str) -> None:
    """``kubectl logs -f … | rankscope analyze -``: the log is not over, and says what is wrong."""
    with reading(text, "-") as tool:
        said = interrupted(tool)
    assert said.code == 130
    assert "OutOfMemoryError" in said.out
    assert "interrupted: neither it nor what is behind it was read to its end" in " ".join(said.out.split())
    assert said.err.strip() == "rankscope: interrupted; this is what was in hand"


@pytest.mark.parametrize("text", TEXTS, ids=["small", "sieved"])
def test_events_are_broken_off(text: str) -> None:
    """They are printed file by file, and none is at its end."""
    with reading(text, "--events", "-") as tool:
        said = interrupted(tool)
    assert (said.code, said.out, said.err.strip()) == (130, "", "rankscope: interrupted")


def test_where_nothing_came_nothing_is_judged() -> None:
    with reading("", "-") as tool:
        said = interrupted(tool)
    assert (said.code, said.out, said.err.strip()) == (130, "", "rankscope: interrupted")


# The command line, which stands still while it judges.
SLOW = """
import sys, time
from rankscope import pipeline
from rankscope.cli.main import main
def judge(*_):
    print("ready", file=sys.stderr, flush=True)
    time.sleep(60)
pipeline.judge = judge
sys.argv[1:] = ["analyze", "-"]
main()
"""


def test_the_second_one_leaves_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """While what came is judged."""
    monkeypatch.setattr(sys.modules[__name__], "TOOL", [sys.executable, "-c", SLOW])
    with reading(TEXTS[1]) as tool:
        tool.send_signal(signal.SIGINT)
        assert tool.stderr is not None
        assert tool.stderr.readline() == "rankscope: interrupted; this is what was in hand\n"
        assert tool.stderr.readline() == "ready\n"
        said = interrupted(tool)
    assert (said.code, said.out) == (-signal.SIGINT, "")


@pytest.mark.parametrize("text", TEXTS, ids=["buffered", "sieved"])
def test_sigterm_is_heeded_as_ctrl_c_is(text: str) -> None:
    """A scheduler sends it some seconds before it kills: what was read until then is judged."""
    with reading(text, "-") as tool:
        tool.send_signal(signal.SIGTERM)
        out, err = tool.communicate(timeout=60)
    assert tool.returncode == 143
    assert "failed first" in out or "OutOfMemoryError" in out
    assert "interrupted; this is what was in hand" in err
