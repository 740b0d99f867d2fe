"""The demo hangs a real job, gets its verdict right, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import pathlib
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from conftest_cli import begin, rankscope

from harness.waiting import wait_until
from rankscope.cli import demo
from rankscope.errors import RankscopeError

TRANSCRIPT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "commands" / "_transcripts" / "demo.txt"


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A variable that everything inherits which a test starts."""
    value = str(uuid.uuid4())
    monkeypatch.setenv("RANKSCOPE_TEST_MARK", value)
    return value.encode()


def running(mark: bytes) -> set[int]:
    """The living processes with this mark that run the demo's job."""
    found = set()
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            ours = entry.name.isdigit() and mark in (entry / "environ").read_bytes()
            if ours and b"demo/train_" in (entry / "cmdline").read_bytes():
                found.add(int(entry.name))
    return found


def shown(command: str) -> str:
    """What the page of the demo shows of a command."""
    runs = TRANSCRIPT.read_text().split(f"$ {command}\n")
    assert len(runs) == 2
    return runs[1].split("\n$ rankscope demo")[0]


def verdicts(screen: str) -> list[tuple[str, ...]]:
    """Class and certainty of each cause."""
    return re.findall(r"\[([a-z0-9-]+),\s+(certain|likely|possible)\]", screen)


def test_a_demo_job_that_is_gone_before_the_look_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """That there is nothing to show is no defect of ours."""

    @contextlib.contextmanager
    def gone(_: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(pid=1 << 22)

    monkeypatch.setattr(demo, "_running", gone)
    with pytest.raises(RankscopeError, match="was not found"):
        demo.command.main(["--no-torch"], standalone_mode=False)


def test_the_demo_without_pytorch_names_the_rank(mark: bytes) -> None:
    """Expected and found are the same, and the exit code says so."""
    said = rankscope("demo", "--no-torch")
    assert said.code == 0, said.out + said.err
    assert "expected rank-stuck-in-user-code of rank 3" in said.out
    assert verdicts(said.out) == verdicts(shown("rankscope demo --no-torch"))
    assert "right" in said.out
    assert not running(mark)


@pytest.mark.torch
def test_the_demo_with_pytorch_names_the_rank(mark: bytes) -> None:
    """A real torchrun training with loader workers."""
    pytest.importorskip("torch")
    said = rankscope("demo", "--torch", within=150)
    assert said.code == 0, said.out + said.err
    assert verdicts(said.out) == verdicts(shown("rankscope demo"))
    assert "right" in said.out
    assert not running(mark)


def test_an_interrupted_demo_ends_what_it_started(mark: bytes) -> None:
    """Ctrl-C takes the job away too."""
    tool = begin("demo", "--no-torch")
    wait_until(lambda: len(running(mark)) >= 5, within=30)
    tool.send_signal(signal.SIGINT)
    _, err = tool.communicate(timeout=30)
    assert tool.returncode == 130, err
    wait_until(lambda: not running(mark), within=10)


def test_the_demo_says_when_pytorch_is_missing() -> None:
    """It offers the one that needs nothing."""
    blocked = (
        "import importlib.util, sys\n"
        "importlib.util.find_spec = lambda name, *_: None\n"
        "sys.argv[1:] = ['demo', '--torch']\n"
        "from rankscope.cli.main import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "rankscope demo --no-torch" in done.stderr
