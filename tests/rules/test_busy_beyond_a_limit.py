"""Workers that a server or kubelet ends because they are busy for longer than they may: slow they are, and not stuck."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty, Diagnosis, Kind
from rankscope.pipeline import judge

GIVEN_UP = [
    "[2024-03-05 10:14:29 +0000] [21] [CRITICAL] WORKER TIMEOUT (pid:22)\n"
    "[2024-03-05 10:14:30 +0000] [21] [ERROR] Worker (pid:22) was sent SIGKILL! Perhaps out of memory?\n",
    "*** HARAKIRI ON WORKER 3 (pid: 771, try: 1) ***\n",
    "Warning  Unhealthy  2m  kubelet  Startup probe failed: HTTP probe failed with statuscode: 503\n",
    "the worker is killed before the weights are fully loaded, and the service restarts, again and again\n",
]
LONGER = [
    "with a longer timeout it boots up fine\n",
    "timeout = 600: works\n",
    "raising the limit to ten minutes solved it\n",
]


def judged(folder: Path, **texts: str) -> Diagnosis:
    """What is said of these files."""
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return judge(gather([folder]))


def slow(found: Diagnosis) -> Certainty | None:
    """How sure it is that it is only slow."""
    return next((one.certainty for one in found.findings if one.rule == "only-slow" and one.kind is Kind.CAUSE), None)


@pytest.mark.parametrize("log", GIVEN_UP)
def test_a_worker_that_was_busy_for_too_long(log: str, tmp_path: Path) -> None:
    assert slow(judged(tmp_path, console=log, client="no answer\n")) is Certainty.POSSIBLE


@pytest.mark.parametrize("cure", LONGER)
@pytest.mark.parametrize("log", [GIVEN_UP[0], *GIVEN_UP[2:]])
def test_a_longer_limit_shows_that_it_gets_there(log: str, cure: str, tmp_path: Path) -> None:
    assert slow(judged(tmp_path, console=log, observation=cure)) is Certainty.LIKELY


@pytest.mark.parametrize(
    "why",
    ["gunicorn --preload app:app\n", "it waits in pthread_mutex_lock\n", "oom-kill:constraint=CONSTRAINT_MEMCG\n"],
)
def test_another_reason_that_is_shown(why: str, tmp_path: Path) -> None:
    assert slow(judged(tmp_path, console=GIVEN_UP[0], beside=why)) is None


def test_a_longer_limit_of_a_collective_is_no_server_s(tmp_path: Path) -> None:
    text = "the ranks are killed by the watchdog in all_reduce; with a longer timeout it works\n"
    assert slow(judged(tmp_path, observation=text)) is None


def test_a_log_that_goes_on_with_steps(tmp_path: Path) -> None:
    steps = "".join(f"step {step} loss 2.{9 - step}\n" for step in range(1, 6))
    assert judged(tmp_path, console=steps + GIVEN_UP[1] + steps.replace("step ", "step 1")).verdict is None
