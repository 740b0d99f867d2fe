"""What has been seen is kept before anything else is done with it, and Ctrl-C does not lose it."""

from __future__ import annotations

import json
import pathlib
import resource
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest
from conftest_cli import Said, rankscope

# The command line with a host of canned jobs: ``hold`` says where it stands still, which "ready" tells.
DRIVER = """
import dataclasses, pathlib, sys, time
from rankscope import pipeline
from rankscope.cli import _snapshots
from rankscope.cli.main import main
from rankscope.model.diagnosis import CallPath, Divergence
from rankscope.model.evidence.stacks import Frame
from rankscope.model.ranks import RankSet
hold, job = sys.argv[1], _snapshots.load(pathlib.Path(sys.argv[2]))
sys.argv[1:] = sys.argv[3:]
judge, source, left = pipeline.judge, pipeline.source, [None]
def stand():
    if left:
        left.pop()
        print("ready", file=sys.stderr, flush=True)
        time.sleep(60)
def gather(look, progress, stuck_after_s=None):
    for number in range(3):
        if hold == "find" or (number == 1 and hold == "second"):
            stand()
        yield dataclasses.replace(job, complete=hold != "broken off")
def judging(*words):
    if hold == "judge":
        stand()
    one = judge(*words)
    side = CallPath(RankSet([0]), "here", (Frame("step", "/train.py", 3),), one.waits[0].waiter)
    return dataclasses.replace(one, parted=Divergence((side,)))
def reading(*words, **more):
    if hold == "source":
        stand()
    return {}
pipeline.gather, pipeline.judge, pipeline.source = gather, judging, reading
main()
"""


@pytest.fixture(scope="module")
def seen(job: subprocess.Popen[bytes], tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A snapshot of the hung job."""
    kept = tmp_path_factory.mktemp("seen") / "seen.snap"
    assert rankscope("snapshot", f"pid:{job.pid}", "-o", str(kept)).code == 0
    return kept


def begin(hold: str, seen: pathlib.Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", DRIVER, hold, str(seen), *words], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip


def interrupted(hold: str, seen: pathlib.Path, *words: str, by: int = signal.SIGINT) -> Said:
    """The command, with one Ctrl-C (or another signal) where it stands still."""
    tool = begin(hold, seen, *words)
    assert tool.stderr is not None
    before = ""
    while (line := tool.stderr.readline()) not in ("ready\n", ""):
        before += line
    tool.send_signal(by)
    out, err = tool.communicate(timeout=30)
    return Said(tool.returncode, out, before + err)


def test_ctrl_c_while_a_job_is_judged_still_tells_the_verdict(seen: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """It was there already, and so is the file."""
    said = interrupted("judge", seen, "diagnose", "--json", "--stuck-after", "0.2", "-o", str(tmp_path / "job.snap"))
    assert (said.code, len(said.out.splitlines())) == (130, 1)
    assert json.loads(said.out)["verdict"]["ranks"] == [3]
    assert f"snapshot kept in {tmp_path / 'job.snap'}" in said.err
    assert "this is what was in hand" in said.err
    assert [one.name for one in tmp_path.iterdir()] == ["job.snap"]


def test_ctrl_c_while_source_lines_are_read_tells_the_verdict_without_them(seen: pathlib.Path) -> None:
    said = interrupted("source", seen, "diagnose", "--stuck-after", "0.2")
    assert said.code == 130
    assert "cause    rank 3" in said.out
    assert said.out.count("cause ") == 1


@pytest.mark.parametrize("command", ["diagnose", "snapshot"])
@pytest.mark.parametrize(("by", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "sigterm"])
def test_ctrl_c_before_the_next_job_keeps_the_first(
    by: int, code: int, command: str, seen: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """So does the signal that a scheduler or timeout(1) sends before it kills."""
    said = interrupted("second", seen, command, "-o", str(tmp_path / "job.snap"), by=by)
    assert said.code == code
    assert f"kept in {tmp_path / 'job.snap'}\n" in said.err
    assert [one.name for one in tmp_path.iterdir()] == ["job.snap"]
    assert rankscope("analyze", "--stuck-after", "0.2", str(tmp_path / "job.snap")).code == 1


@pytest.mark.parametrize("command", ["diagnose", "snapshot"])
def test_ctrl_c_before_anything_was_seen_promises_no_file(
    command: str, seen: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    said = interrupted("find", seen, command, "-o", str(tmp_path / "job.snap"))
    assert (said.code, said.out) == (130, "")
    assert said.err.strip() == "rankscope: interrupted"
    assert list(tmp_path.iterdir()) == []


def test_a_look_that_was_broken_off_is_the_last(seen: pathlib.Path) -> None:
    """One Ctrl-C ends the look at all jobs of the host, not only at one."""
    tool = begin("broken off", seen, "diagnose", "--json")
    out, _ = tool.communicate(timeout=30)
    assert (tool.returncode, len(out.splitlines())) == (130, 1)


def test_every_file_is_named(seen: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Further jobs have files that nobody asked for; what stood there before is told."""
    (tmp_path / "job-3.snap").write_text("old")
    tool = begin("", seen, "diagnose", "-o", str(tmp_path / "job.snap"))
    _, err = tool.communicate(timeout=30)
    kept = [line.removeprefix(f"snapshot kept in {tmp_path}/") for line in err.splitlines()]
    assert kept == ["job.snap", "job-2.snap", "job-3.snap, in place of an older file"]
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("command", ["diagnose", "snapshot"])
def test_a_file_that_cannot_be_written_is_told_before_the_look(
    command: str, seen: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """A job may be dead when it is looked at again."""
    pipe = tmp_path / "pipe"
    subprocess.run(["mkfifo", str(pipe)], check=True)
    for name, because in (
        ("none/job.snap", "No such file"),
        ("pipe", "no regular file"),
        ("pipe/x", "Not a directory"),
    ):
        tool = begin("find", seen, command, "-o", str(tmp_path / name))
        out, err = tool.communicate(timeout=30)
        assert (tool.returncode, out) == (2, "")
        assert err.startswith(f"rankscope: cannot write the snapshot {tmp_path / name}")
        assert because in err
        assert "ready" not in err


def limited(size: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_file_that_grows_too_large_does_not_cost_the_verdict(seen: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """A quota may be used up by the evidence itself; what had been kept under that name stays. Who found something says so, as
    without a file; only a clean bill is none without its evidence."""
    long = tmp_path / "long.snap"
    first, *rest = seen.read_text().splitlines(keepends=True)
    long.write_text(
        first + '{"is":"gap","what":"padding","why":"missing","detail":"' + "x" * 200_000 + '"}\n' + "".join(rest)
    )
    (tmp_path / "job.snap").write_text("old")
    words = ("", str(long), "diagnose", "--json", "-o", str(tmp_path / "job.snap"), "--stuck-after")
    for size, after, code, out in ((1 << 10, "0.2", 2, 0), (100 << 10, "0.2", 1, 3), (100 << 10, "3600", 2, 3)):
        done = subprocess.run([sys.executable, "-c", DRIVER, *words, after], capture_output=True, text=True, timeout=60,
                              check=False, preexec_fn=limited(size))  # fmt: skip
        assert (done.returncode, len(done.stdout.splitlines())) == (code, out)
        assert "File too large" in done.stderr
        assert "kept in" not in done.stderr
        assert (tmp_path / "job.snap").read_text() == "old"
        assert len(list(tmp_path.iterdir())) == 2


def test_a_reader_who_leaves_costs_neither_the_file_nor_the_exit_code(
    job: subprocess.Popen[bytes], tmp_path: pathlib.Path
) -> None:
    """``rankscope diagnose … | head -1`` has found what it found."""
    with subprocess.Popen(
        [sys.executable, "-m", "rankscope", "diagnose", f"pid:{job.pid}", "--stuck-after", "0.2", "-o",
         str(tmp_path / "job.snap")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as tool:  # fmt: skip
        assert tool.stdout is not None
        tool.stdout.close()
        assert tool.stderr is not None
        err = tool.stderr.read()
    assert (tool.returncode, err) == (1, f"snapshot kept in {tmp_path / 'job.snap'}\n")
    assert rankscope("analyze", "--stuck-after", "0.2", str(tmp_path / "job.snap")).code == 1
