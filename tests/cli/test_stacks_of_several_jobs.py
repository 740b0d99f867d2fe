"""What of several jobs is shown, and what is shown of one whose native frames cannot be had."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import sys

import pytest
from conftest_cli import Said, rankscope

# The command line with canned looks; a look for native frames ends as its first word says.
DRIVER = """
import dataclasses, pathlib, sys, time
from rankscope import pipeline
from rankscope.cli import _snapshots
from rankscope.cli.main import main
from rankscope.errors import RankscopeError
again, job = sys.argv[1], _snapshots.load(pathlib.Path(sys.argv[2]))
sys.argv[1:] = sys.argv[3:]
others = {one.ref for one in pipeline.case_of(job).members if one.process.rank in (2, 3)}
few = dataclasses.replace(job, job=dataclasses.replace(job.job, name="few.py"),
                          processes=tuple(one for one in job.processes if one.ref not in others))
def gather(look, progress=None, stuck_after_s=None):
    yield dataclasses.replace(few, complete=again != "broken off")
    yield job
def look_again(look, found, plan):
    if again == "refused":
        raise RankscopeError("no host of node1 answered", "it was ended")
    print("ready", file=sys.stderr, flush=True)
    time.sleep(60)
pipeline.gather = gather
if again in ("refused", "slow"):
    pipeline.look_again = look_again
if again == "gone":
    pipeline.look_again = lambda look, found, plan: dataclasses.replace(job, sweeps=(), gaps=())
main()
"""


@pytest.fixture(scope="module")
def seen(job: subprocess.Popen[bytes], tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A snapshot of the hung job: four ranks."""
    kept = tmp_path_factory.mktemp("seen") / "seen.snap"
    assert rankscope("snapshot", f"pid:{job.pid}", "--sweeps", "1", "-o", str(kept)).code == 0
    return kept


def stacks(again: str, seen: pathlib.Path, *words: str) -> Said:
    command = [sys.executable, "-c", DRIVER, again, str(seen), "stacks", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as tool:
        before = ""
        if again == "slow":
            assert tool.stderr is not None
            while (line := tool.stderr.readline()) not in ("ready\n", ""):
                before += line
            tool.send_signal(signal.SIGINT)
        out, err = tool.communicate(timeout=60)
    return Said(tool.returncode, out, before + err)


@pytest.mark.parametrize("raw", [(), ("--raw",)])
def test_a_job_without_the_asked_ranks_does_not_hide_the_next(seen: pathlib.Path, raw: tuple[str, ...]) -> None:
    """Rank 3 is a rank of the second job alone; of the first it is told that it has no such rank."""
    said = stacks("", seen, "--ranks", "3", *raw)
    assert said.code == 0
    assert "rank 3" in said.out
    assert "few.py" not in said.out
    assert "few.py has no process that matches\n  because  it has 2 ranks" in said.err


def test_where_no_job_has_them_the_hint_names_the_same_target(job: subprocess.Popen[bytes]) -> None:
    """It is typed as it stands."""
    said = rankscope("stacks", f"pid:{job.pid}", "--ranks", "17")
    assert said.code == 2
    assert "has no process that matches" in said.err
    assert f"try      rankscope stacks pid:{job.pid} --children\n" in said.err


def test_one_ctrl_c_ends_the_look_at_all_jobs(seen: pathlib.Path) -> None:
    said = stacks("broken off", seen)
    assert said.code == 130
    assert said.out.count("main thread of") == 1


@pytest.mark.parametrize(
    ("again", "because"), [("refused", "no host of node1 answered; it was ended"), ("gone", "it ended before")]
)
def test_without_native_frames_the_stacks_in_hand_are_shown(seen: pathlib.Path, again: str, because: str) -> None:
    """Who was to stand for the others may have ended; that is told as a gap."""
    said = stacks(again, seen, "--native")
    assert said.code == 0, said.err
    assert "└─ rank 3: " in said.out
    assert f"gone ({because}" in said.out


def test_ctrl_c_while_native_frames_are_taken_shows_the_others(seen: pathlib.Path) -> None:
    said = stacks("slow", seen, "--native")
    assert said.code == 130
    assert said.out.count("main thread of") == 1
    assert "interrupted" in said.err
