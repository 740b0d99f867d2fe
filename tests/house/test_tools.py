"""A tool that counts what is right says so where it has found nothing to count."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]
COUNTS = ("accuracy", "events_check", "vectors")
KILLED = "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.\n"


def run(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, f"tools/{name}.py", *words]
    return subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", COUNTS)
def test_a_folder_that_is_missing_or_empty_is_an_error(name: str, tmp_path: pathlib.Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        done = run(name, str(folder))
        assert (done.returncode, done.stdout) == (2, "")
        assert str(folder) in done.stderr


@pytest.mark.parametrize("name", COUNTS)
def test_what_is_counted_has_to_be_named(name: str) -> None:
    done = run(name)
    assert done.returncode == 2
    assert "usage:" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("path", sorted((REPO / "tools").glob("*.py")), ids=lambda path: path.stem)
def test_who_asks_a_tool_for_help_is_told_and_nothing_is_done(path: pathlib.Path) -> None:
    done = run(path.stem, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "usage:" in done.stdout


@pytest.mark.parametrize("name", ["logs", "merge"])
def test_who_asks_a_benchmark_for_help_is_told(name: str) -> None:
    command = [sys.executable, f"benchmarks/{name}.py", "--help"]
    done = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "usage:" in done.stdout


def test_a_fact_that_a_log_has_is_read(tmp_path: pathlib.Path) -> None:
    (tmp_path / "job.log").write_text("first line\nRuntimeError: CUDA out of memory\n")
    fact = {"line": 2, "event": "cuda.out_of_memory"}
    (tmp_path / "manifest.json").write_text(json.dumps({"logs": [{"file": "job.log", "expect": [fact]}]}))
    done = run("events_check", str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "1 of 1 facts read\n")


def test_a_case_that_is_there_is_judged(tmp_path: pathlib.Path) -> None:
    evidence = [{"form": "dump", "label": "log", "text": KILLED}]
    case = {"id": "one", "evidence": evidence, "truth": {"class": "oom-kill"}}
    (tmp_path / "one.json").write_text(json.dumps(case))
    done = run("accuracy", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "dump: 1/1 right" in done.stdout
    assert run("accuracy", str(tmp_path), "two").returncode == 2
