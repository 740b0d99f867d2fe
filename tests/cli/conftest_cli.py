"""A small hung job for tests of commands, and the command line in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from harness.judging import TOOL
from harness.waiting import wait_until


@dataclass(frozen=True)
class Said:
    """What one run of the command line printed, and its exit code."""

    code: int
    out: str
    err: str


def rankscope(*args: str, before: tuple[str, ...] = (), within: float = 60.0) -> Said:
    """Run the command line to its end."""
    done = subprocess.run([*before, *TOOL, *args], capture_output=True, text=True, timeout=within, check=False)
    return Said(done.returncode, done.stdout, done.stderr)


def begin(*args: str) -> subprocess.Popen[str]:
    """Start the command line and leave it running."""
    return subprocess.Popen([*TOOL, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def sleeps_between_sweeps(tool: subprocess.Popen[str]) -> bool:
    """Whether the first sweep is done: the probe, a child of the tool, sleeps until the next one."""
    with open(f"/proc/{tool.pid}/task/{tool.pid}/children") as file:
        children = file.read().split()
    return any(_wchan(pid) in ("hrtimer_nanosleep", "do_nanosleep") for pid in children)


def _wchan(pid: str) -> str:
    try:
        with open(f"/proc/{pid}/wchan") as file:
            return file.read()
    except OSError:
        return ""


@pytest.fixture(scope="module")
def job() -> Iterator[subprocess.Popen[bytes]]:
    """Four ranks without PyTorch; at step 12, rank 3 waits for a file and the others for rank 3."""
    child = subprocess.Popen(
        [sys.executable, "-u", "-m", "rankscope.demo.train_plain"], stdout=subprocess.PIPE, start_new_session=True
    )
    assert child.stdout is not None
    os.set_blocking(child.stdout.fileno(), False)
    said = bytearray()

    def all_there() -> bool:
        assert child.stdout is not None
        said.extend(child.stdout.read() or b"")
        return said.count(b"reached step") == 4

    try:
        wait_until(all_there, within=30)
        yield child
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
