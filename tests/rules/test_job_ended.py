"""A job that just died says how each of its processes ended, and what they wrote at last."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

from harness import judging

# It bears the name of torchrun's agent, by which that is known.
PARENT = """
import os, subprocess, sys
open("/proc/self/comm", "w").write("pt_elastic")
ends = {"code": "import sys; sys.exit(3)", "signal": "import os; os.kill(os.getpid(), 11)", "well": "pass"}
children = [subprocess.Popen([sys.executable, "-c", ends[how]], stderr=subprocess.DEVNULL,
    env={**os.environ, "RANK": str(n), "WORLD_SIZE": str(len(sys.argv) - 1)}) for n, how in enumerate(sys.argv[1:])]
for child in children:
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
print(*[child.pid for child in children], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def script(request: pytest.FixtureRequest) -> Iterator[tuple[int, list[int]]]:
    """A launcher whose ranks ended in the given ways and were not collected."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, *request.param], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    yield parent.pid, [int(word) for word in parent.stdout.readline().split()]
    parent.communicate(timeout=20)


def diagnose(pid: int) -> dict[str, object]:
    look = judging.run("diagnose", "--json", f"pid:{pid}", "--interval", "0.2")
    assert look.diagnosis is not None, look.errors
    return look.diagnosis


@pytest.mark.parametrize("script", [("code", "signal", "well")], indirect=True)
def test_exit_codes_and_signals_of_zombies_are_told(script: tuple[int, list[int]]) -> None:
    """The state is "exited"; one that ended well is not to blame."""
    parent, (coded, signalled, well) = script
    said = diagnose(parent)
    assert said["job"]["state"] == "exited", said  # type: ignore[index]
    (cause,) = [one for one in said["findings"] if one["rule"] == "job-ended"]  # type: ignore[attr-defined]
    text = json.dumps(cause["because"])
    assert "exit code 3" in text
    assert "SIGSEGV" in text
    named = {process["pid"] for process in cause["processes"]}
    assert {coded, signalled} <= named
    assert well not in named


@pytest.mark.parametrize("script", [("code",)], indirect=True)
def test_the_pid_of_a_zombie_is_a_target(script: tuple[int, list[int]]) -> None:
    said = diagnose(script[1][0])
    assert said["job"]["state"] == "exited"  # type: ignore[index]
    assert said["verdict"]["class"] == "dead-rank"  # type: ignore[index]


def test_the_error_file_of_a_failed_rank_names_its_exception(tmp_path: pathlib.Path) -> None:
    """A rank that still waits leads to the file that the failed one wrote."""
    for local in (0, 1):
        (tmp_path / "attempt_0" / str(local)).mkdir(parents=True)
    stack = 'Traceback (most recent call last):\n  File "train.py", line 88, in load\n    raise\nValueError: bad record 23\n'
    body = {
        "message": {
            "message": "ValueError: bad record 23",
            "extraInfo": {"py_callstack": stack, "timestamp": "1700000000"},
        }
    }
    (tmp_path / "attempt_0" / "1" / "error.json").write_text(json.dumps(body))
    about = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "r",
             "TORCHELASTIC_ERROR_FILE": f"{tmp_path}/attempt_0/0/error.json"}  # fmt: skip
    rank = subprocess.Popen([sys.executable, "-c", "print('here', flush=True); input()"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, env={**os.environ, **about})  # fmt: skip
    try:
        assert rank.stdout is not None
        rank.stdout.readline()
        said = diagnose(rank.pid)
    finally:
        rank.communicate(timeout=20)
    assert "rank 1 failed first: ValueError: bad record 23" in json.dumps(said["findings"])
