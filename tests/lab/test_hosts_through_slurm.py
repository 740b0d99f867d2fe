"""A job of a real Slurm on two nodes: found by its number, looked at by an overlapping step, with all its devices taken."""

from __future__ import annotations

import pathlib
import re
import shutil
import sys
from collections.abc import Iterator

import pytest

from harness.waiting import wait_until

from .conftest import HERE, Lab, age

pytestmark = [pytest.mark.torch, pytest.mark.slow]
BATCH = """#!/bin/sh
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -1) MASTER_PORT=29511
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=eth0 PYTHONUNBUFFERED=1
exec srun --no-kill --gres=gpu:2 {python} {train}
"""


HET = """#!/bin/sh
#SBATCH -N1 --ntasks-per-node=1 --gres=gpu:1
#SBATCH hetjob
#SBATCH -N2 --ntasks-per-node=1
exec srun --het-group=0,1 env WORLD_SIZE=3 {python} {stand}
"""
ARRAY = """#!/bin/sh
exec srun env -u SLURM_JOB_ID -u SLURM_JOBID {python} {stand}
"""


@pytest.fixture(scope="module")
def cluster(lab: Lab) -> Iterator[Lab]:
    pytest.importorskip("torch")
    for tool in ("slurmctld", "slurmd", "munged", "srun"):
        if not shutil.which(tool, path="/usr/sbin:/usr/bin"):
            pytest.skip(f"{tool} is not installed")
    lab.bed("up", script="slurm.sh")
    yield lab
    lab.bed("down", script="slurm.sh", check=False)


def submit(lab: Lab, odd: int) -> str:
    script: pathlib.Path = lab.folder / "job.sh"
    script.write_text(BATCH.format(python=sys.executable, train=HERE / "train.py"))
    out = lab.folder / "slurm.log"
    out.unlink(missing_ok=True)
    options = ["--no-kill", "-N2", "--ntasks-per-node=1", "--gres=gpu:2", "-o", str(out)]
    said = lab.on("login", "env", f"ODD={odd}", "sbatch", *options, str(script), check=True)
    number = re.search(r"\d+", said)
    assert number, said
    wait_until(lambda: lab.said("sick"), within=90, what="a rank that is sick")
    return number[0]


def test_a_job_is_found_by_its_number_and_looked_at_beside_its_own_step(cluster: Lab) -> None:
    lab = cluster
    number = submit(lab, odd=1)
    age(2.5)
    said = lab.diagnose(f"slurm:{number}")
    assert said["verdict"]["class"] == "rank-stuck-in-user-code"
    assert said["verdict"]["ranks"] == [1]
    assert said["job"]["world_size"] == 2
    assert len(said["job"]["hosts"]) == 2
    assert lab.rankscope("hosts", "slurm:me").stdout.strip() == "node[1-2]"

    # Its second node loses the network: Slurm cannot start a step there, the first still answers.
    lab.bed("blackhole", "node2", script="net.sh")
    said = lab.diagnose(f"slurm:{number}", "--deadline", "8")
    lab.bed("heal", script="net.sh")
    lab.on("login", "scancel", number)
    assert [gap["host"] for gap in said["gaps"] if gap["what"] == "host"] == ["node2"]
    assert said["verdict"]["ranks"] == [1]
    assert said["verdict"]["class"] in ("network-blackhole", "collective-missed-by-rank")


def test_a_job_that_slurm_does_not_know_is_refused_in_words(cluster: Lab) -> None:
    done = cluster.rankscope("diagnose", "slurm:999999")
    assert done.returncode == 2
    assert "Slurm knows no job 999999" in done.stderr


def queue(lab: Lab, text: str, *options: str, tasks: int) -> str:
    """Submit a script whose tasks only stand, and wait until all of them do."""
    script: pathlib.Path = lab.folder / "stand.sh"
    script.write_text(text.format(python="/usr/bin/python3", stand=HERE / "stand.py"))
    out = lab.folder / "slurm.log"
    out.unlink(missing_ok=True)
    said = lab.on("login", "sbatch", *options, "-o", str(out), "--open-mode=append", str(script), check=True)
    number = re.search(r"\d+", said)
    assert number, said
    # The backfill scheduler starts heterogeneous jobs, and that only twice a minute.
    wait_until(lambda: out.exists() and out.read_text().count("standing") == tasks, within=90)
    return number[0]


def test_a_heterogeneous_job_is_one_job_and_its_parts_can_be_named(cluster: Lab) -> None:
    number = queue(cluster, HET, tasks=3)
    whole = cluster.diagnose(f"slurm:{number}")
    part = cluster.diagnose(f"slurm:{number}+1")
    mine = cluster.rankscope("hosts", "slurm:me")
    cluster.on("login", "scancel", number)
    assert whole["job"]["ranks"] == [0, 1, 2]
    assert len(whole["job"]["hosts"]) == 3
    assert len(part["job"]["hosts"]) == 2
    assert mine.stdout.strip() == "node[1-3]"


def test_tasks_of_an_array_on_one_node_are_told_apart_though_they_wiped_their_number(cluster: Lab) -> None:
    number = queue(cluster, ARRAY, "--array=1-2", "--nodelist=node1", "-N1", tasks=2)
    asked = cluster.rankscope("diagnose", f"slurm:{number}")
    chosen = cluster.rankscope("diagnose", "slurm:me")
    shown = [cluster.rankscope("stacks", f"slurm:{number}_{task}", "--raw").stdout for task in (1, 2)]
    pids = [set(re.findall(r"^Process (\d+):", text, re.MULTILINE)) for text in shown]
    cluster.on("login", "scancel", number)
    assert asked.returncode == chosen.returncode == 2
    assert f"slurm:{number}_2" in asked.stderr
    assert f"slurm:{number}_1" in chosen.stderr
    assert all(pids)
    assert not pids[0] & pids[1]
