"""GPUs are asked through the driver's library, here a stand-in; one that does not answer costs a deadline and leaves a gap."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from harness import judging

SOURCE = pathlib.Path(__file__).parent / "fake_nvml.c"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The folder of the stand-in."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc to make the stand-in with")
    folder = tmp_path_factory.mktemp("nvml")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(folder / "libnvidia-ml.so.1"), str(SOURCE)], check=True)
    return folder


@pytest.fixture
def job() -> Iterator[tuple[int, int]]:
    """Two ranks that wait for a word that does not come: pids of their parent and of rank 0."""
    code = """
import os, subprocess, sys
ranks = [subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE,
    env={**os.environ, "RANK": str(n), "LOCAL_RANK": str(n), "WORLD_SIZE": "2",
    "CUDA_VISIBLE_DEVICES": str(n)}) for n in range(2)]
print(ranks[0].pid, flush=True)
sys.stdin.read()
[rank.kill() for rank in ranks]
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    yield parent.pid, int(parent.stdout.readline())
    parent.communicate(timeout=20)


def diagnose(library: pathlib.Path, pid: int, **fake: object) -> dict[str, Any]:
    told = [f"{name}={value}" for name, value in fake.items()]
    look = judging.run("diagnose", "--json", f"pid:{pid}", "--sweeps", "2", "--interval", "0.2",
                       before=("env", f"LD_LIBRARY_PATH={library}", *told))  # fmt: skip
    assert look.diagnosis is not None, look.errors
    return look.diagnosis


def of_gpus(said: dict[str, Any]) -> list[dict[str, Any]]:
    return [finding for finding in said["findings"] if finding["rule"] == "gpu-told"]


def test_gpus_at_rest_say_that_nothing_has_begun(library: pathlib.Path, job: tuple[int, int]) -> None:
    """0 % with a few megabytes in use is a note, told once, and no cause."""
    (note,) = of_gpus(diagnose(library, job[0]))
    assert note["kind"] == "note"
    assert "11 MiB" in note["title"]


def test_a_lost_gpu_is_the_cause_and_names_the_rank_that_was_given_it(
    library: pathlib.Path, job: tuple[int, int]
) -> None:
    (cause,) = of_gpus(diagnose(library, job[0], FAKE_LOST=1))
    assert (cause["kind"], cause["class"], cause["ranks"]) == ("cause", "gpu-hardware-fault", [1])
    assert "GPU is lost" in cause["title"]


def test_the_list_of_the_driver_counts_more_than_the_environment(library: pathlib.Path, job: tuple[int, int]) -> None:
    (cause,) = of_gpus(diagnose(library, job[0], FAKE_LOST=0, FAKE_PID=job[1]))
    assert cause["ranks"] == [0]


def test_a_driver_that_does_not_answer_leaves_a_gap(library: pathlib.Path, job: tuple[int, int]) -> None:
    """The rest of the look is there all the same."""
    said = diagnose(library, job[0], FAKE_HANG=1)
    assert "gpus" in {gap["what"] for gap in said["gaps"]}
    assert said["job"]["ranks"] == [0, 1], json.dumps(said)
    assert os.path.exists(f"/proc/{job[1]}")
