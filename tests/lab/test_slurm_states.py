"""What may become of a Slurm job and its nodes, with processes tracked by control groups as real sites have it."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys
from collections.abc import Iterator

import pytest

from harness.waiting import wait_until

from .conftest import ENTRY, HERE, Lab
from .mpi import RELEASES, program

pytestmark = pytest.mark.slow
USER = "hpc"
PYTHON = "/usr/bin/python3"
RANKS = f"""#!/bin/sh
export MASTER_ADDR=node1 MASTER_PORT=29511
exec srun --no-kill env SLURM_JOB_ID=4711 WORLD_SIZE=2 {PYTHON} {HERE / "stand.py"}
"""
MPI = f"""#!/bin/sh
exec {{start}} -n 4 {PYTHON} {HERE / "stand.py"}
"""
ALONE = f"""#!/bin/sh
exec {PYTHON} {HERE / "stand.py"}
"""


@pytest.fixture(scope="module")
def cluster(lab: Lab) -> Iterator[Lab]:
    for tool in ("slurmctld", "slurmd", "munged", "srun"):
        if not shutil.which(tool, path="/usr/sbin:/usr/bin"):
            pytest.skip(f"{tool} is not installed")
    if not os.access("/sys/fs/cgroup/freezer", os.W_OK):
        pytest.skip("Slurm's control groups need a writable freezer (cgroup v1) here")
    lab.env["SLURM_CGROUP"] = "1"
    lab.bed("up", script="slurm.sh")
    yield lab
    lab.bed("down", script="slurm.sh", check=False)
    del lab.env["SLURM_CGROUP"]


def submit(lab: Lab, text: str, *options: str, tasks: int) -> str:
    """The number of a job whose tasks stand."""
    script: pathlib.Path = lab.folder / "job.sh"
    script.write_text(text)
    words = ["sbatch", "--parsable", *options, "--chdir=/tmp", "-o", "/dev/null", str(script)]
    number = lab.on("login", *words, check=True).strip()
    wait_until(lambda: standing(lab) >= tasks, within=30)
    return number


def standing(lab: Lab) -> int:
    return sum(
        len(lab.on(host, "pgrep", "-f", "^[^ ]*python[^ ]* .*stand.py").split()) for host in ("node1", "node2", "node3")
    )


def cancel(lab: Lab, number: str) -> None:
    lab.on("login", "scancel", number)
    wait_until(lambda: not standing(lab), within=30)
    wait_until(lambda: number not in lab.on("login", "squeue", "-h", "-o", "%A").split(), within=30)


def test_the_control_group_says_whose_a_process_is_though_its_environment_names_another_job(cluster: Lab) -> None:
    number = submit(cluster, RANKS, "-N2", "--ntasks-per-node=1", tasks=2)
    said = cluster.diagnose(f"slurm:{number}")
    other = cluster.rankscope("diagnose", "slurm:4711")
    cancel(cluster, number)
    assert said["job"]["ranks"] == [0, 1]
    assert len(said["job"]["hosts"]) == 2
    assert other.returncode == 2


def test_a_lone_program_of_a_job_is_looked_at(cluster: Lab) -> None:
    number = submit(cluster, ALONE, "-N1", tasks=1)
    done = cluster.rankscope("diagnose", f"slurm:{number}")
    cancel(cluster, number)
    ended = cluster.rankscope("diagnose", f"slurm:{number}")
    assert "stand.py (none), 1 process on node1" in done.stdout
    assert ended.returncode == 2
    assert f"sacct -j {number}" in ended.stderr


def test_a_suspended_job_is_told_at_once(cluster: Lab) -> None:
    number = submit(cluster, RANKS, "-N2", "--ntasks-per-node=1", tasks=2)
    cluster.on("login", "scontrol", "suspend", number, check=True)
    told = cluster.rankscope("diagnose", f"slurm:{number}", "--deadline", "60", within=30)
    beside = cluster.diagnose("ssh:node[1-2]")
    cluster.on("login", "scontrol", "resume", number)
    cancel(cluster, number)
    assert "is halted" in told.stderr
    assert f"scontrol resume {number}" in told.stderr
    assert beside["verdict"]["class"] == "process-stopped"


def test_the_job_of_another_user_is_refused_by_slurm_and_seen_by_root_through_ssh(cluster: Lab) -> None:
    number = submit(cluster, RANKS, "-N2", "--ntasks-per-node=1", tasks=2)
    mine = cluster.diagnose(f"slurm:{number}")
    theirs = cluster.rankscope("diagnose", f"slurm:{number}", user=USER)
    cancel(cluster, number)
    assert mine["job"]["ranks"] == [0, 1]
    assert theirs.returncode == 2
    assert "1 Python process of other users could not be looked at" in theirs.stderr


def test_a_node_whose_slurmd_died_is_looked_at_by_ssh_and_one_that_lost_the_network_named(cluster: Lab) -> None:
    lab = cluster
    number = submit(lab, RANKS, "-N2", "--ntasks-per-node=1", "--no-kill", tasks=2)
    lab.on("node2", "pkill", "-KILL", "-x", "slurmd")
    said = lab.diagnose(f"slurm:{number}", "--deadline", "30")
    lab.bed("blackhole", "node2", script="net.sh")
    dark = lab.diagnose(f"slurm:{number}", "--deadline", "30")
    lab.bed("heal", script="net.sh")
    lab.bed("restart", "node2", script="slurm.sh")
    cancel(lab, number)
    (gap,) = [gap for gap in dark["gaps"] if gap["what"] == "host"]
    assert said["job"]["ranks"] == [0, 1]
    assert dark["job"]["ranks"] == [0]
    assert gap["host"] == "node2"
    assert "by ssh: it does not answer" in gap["detail"]


@pytest.mark.parametrize("name", RELEASES)
def test_mpirun_inside_an_allocation_is_found_from_outside_and_from_inside(cluster: Lab, name: str) -> None:
    """There its daemons are started through srun."""
    lab, release = cluster, RELEASES[name]
    start = " ".join((program(lab, release), *release.start[1:-1]))
    number = submit(lab, MPI.format(start=start), "-N2", "--ntasks-per-node=2", tasks=4)
    outside = lab.diagnose(f"slurm:{number}")
    pid = lab.on("node1", "pgrep", "-x", release.comm).split()[0]
    inside = lab.diagnose(f"mpi:{pid}", host="node1")
    followed = lab.diagnose("", "--follow-hosts", host="node2")
    cancel(lab, number)
    assert outside["job"]["launcher"] == "mpi"
    assert outside["job"]["ranks"] == inside["job"]["ranks"] == followed["job"]["ranks"] == [0, 1, 2, 3]


def test_a_look_that_is_killed_takes_its_step_along(cluster: Lab) -> None:
    """Nobody is there to end srun; without it the agents would look on until their alarm."""
    number = submit(cluster, RANKS, "-N2", "--ntasks-per-node=1", tasks=2)
    words = ["diagnose", f"slurm:{number}", "--interval", "60", "--deadline", "90"]
    cluster.start("login", sys.executable, "-c", ENTRY, *words)
    nodes = ("node1", "node2")
    wait_until(lambda: all(cluster.on(node, "pgrep", "-f", "base64,sys,zlib") for node in nodes), within=30)
    cluster.on("login", "pkill", "-KILL", "-f", "rankscope.cli.main")
    wait_until(lambda: not any(cluster.on(node, "pgrep", "-f", "base64,sys,zlib") for node in nodes), within=30)
    cancel(cluster, number)
