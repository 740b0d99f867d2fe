"""A tool that counts what is right says so where it has found nothing to count."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]
COUNTS = ("accuracy", "vectors")
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


def test_a_case_that_is_there_is_judged(tmp_path: pathlib.Path) -> None:
    evidence = [{"form": "dump", "label": "log", "text": KILLED}]
    case = {"id": "one", "evidence": evidence, "truth": {"class": "oom-kill"}}
    (tmp_path / "one.json").write_text(json.dumps(case))
    done = run("accuracy", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "dump: 1/1 right" in done.stdout
    assert run("accuracy", str(tmp_path), "two").returncode == 2
