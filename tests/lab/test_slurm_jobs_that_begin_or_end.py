"""A Slurm job that is made ready, ends, or has ended: no step can be started in it, and there is still something to say."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys
from collections.abc import Iterator

import pytest

from harness.waiting import wait_until

from .conftest import HERE, ROOT, Lab, age

pytestmark = pytest.mark.slow
JOB = f"""#!/bin/sh
export MASTER_ADDR=node1 MASTER_PORT=29511
exec srun --no-kill env WORLD_SIZE=2 /usr/bin/python3 {HERE / "stand.py"} {{shard}}
"""
HOLDS = """#!/bin/sh
while [ -e {folder}/hold-{name}-$(hostname) ]; do sleep 0.1; done
"""


@pytest.fixture(scope="module")
def cluster(lab: Lab) -> Iterator[Lab]:
    """A Slurm whose prologs and epilogs last for as long as a file is there."""
    for tool in ("slurmctld", "slurmd", "munged", "srun"):
        if not shutil.which(tool, path="/usr/sbin:/usr/bin"):
            pytest.skip(f"{tool} is not installed")
    more = ["PrologFlags=Alloc", "UnkillableStepTimeout=12"]
    for name in ("Prolog", "Epilog"):
        script = lab.folder / name
        script.write_text(HOLDS.format(folder=lab.folder, name=name))
        script.chmod(0o755)
        more.append(f"{name}={script}")
    lab.env["SLURM_MORE"] = "\n".join(more)
    lab.bed("up", script="slurm.sh")
    yield lab
    lab.bed("down", script="slurm.sh", check=False)
    del lab.env["SLURM_MORE"]


def hold(lab: Lab, name: str, node: str = "node2") -> pathlib.Path:
    path = lab.folder / f"hold-{name}-{node}"
    path.touch()
    return path


def submit(lab: Lab, shard: str = "") -> str:
    script = lab.folder / "job.sh"
    script.write_text(JOB.format(shard=shard))
    options = ["-N2", "--ntasks-per-node=1", "--chdir=/tmp", "-o", "/dev/null"]
    return lab.on("login", "sbatch", "--parsable", *options, str(script), check=True).strip()


def state(lab: Lab, number: str) -> str:
    return lab.on("login", "squeue", "-h", "-j", number, "-o", "%T %r").strip()


def standing(lab: Lab) -> bool:
    return all(lab.on(node, "pgrep", "-f", "^/usr/bin/python3 .*stand.py") for node in ("node1", "node2"))


def done(lab: Lab, number: str) -> None:
    lab.on("login", "scancel", number)
    wait_until(lambda: not state(lab, number), within=30)


def test_a_job_whose_nodes_run_their_prolog_is_said_to_be_set_up(cluster: Lab) -> None:
    held = hold(cluster, "Prolog")
    number = submit(cluster)
    wait_until(lambda: state(cluster, number) == "RUNNING Prolog", within=30)
    told = cluster.rankscope("diagnose", f"slurm:{number}", "--deadline", "60", within=30)
    held.unlink()
    wait_until(lambda: standing(cluster), within=30)
    said = cluster.diagnose(f"slurm:{number}")
    done(cluster, number)
    assert told.returncode == 2
    assert "still runs Slurm's prolog" in told.stderr
    assert said["job"]["ranks"] == [0, 1]


def test_a_job_that_an_epilog_holds_up_is_said_to_end_and_the_epilog_is_named(cluster: Lab) -> None:
    number = submit(cluster)
    wait_until(lambda: standing(cluster), within=30)
    held = hold(cluster, "Epilog")
    cluster.on("login", "scancel", number)
    wait_until(lambda: state(cluster, number).startswith("COMPLETING"), within=30)
    wait_until(lambda: cluster.on("node2", "pgrep", "-f", "/Epilog"), within=30)
    told = cluster.rankscope("diagnose", f"slurm:{number}")
    way = cluster.rankscope("doctor", f"slurm:{number}")
    held.unlink()
    done(cluster, number)
    ended = cluster.rankscope("diagnose", f"slurm:{number}")
    assert f"Slurm job {number} is COMPLETING" in told.stderr
    assert f"node2: slurmd runs /bin/sh {cluster.folder}/Epilog" in told.stderr
    assert "slurmd runs" in way.stdout
    assert "Slurm says CANCELLED since" in ended.stderr
    assert "it ran on node[1-2]" in ended.stderr


def test_a_job_that_was_requeued_is_said_to_wait_and_to_have_run(cluster: Lab) -> None:
    number = submit(cluster)
    wait_until(lambda: standing(cluster), within=30)
    cluster.on("login", "scontrol", "requeue", number, check=True)
    wait_until(lambda: state(cluster, number).startswith("PENDING"), within=30)
    told = cluster.rankscope("diagnose", "slurm:me")
    done(cluster, number)
    assert f"{number} is PENDING (BeginTime" in told.stderr
    assert "it has run before, and was requeued 1 time" in told.stderr
    assert f"squeue --start -j {number}" in told.stderr


def test_a_process_that_cannot_be_killed_is_found_while_its_job_ends_and_its_node_is_named_afterwards(
    cluster: Lab,
) -> None:
    """It reads from a file server that does not answer; Slurm gives up after a while, and drains the node."""
    lab, dead = cluster, "/tmp/dead"
    if not os.access("/dev/fuse", os.W_OK):
        pytest.skip("a file system that does not answer needs /dev/fuse")
    lab.on("node2", "mkdir", "-p", dead, check=True)
    lab.start("node2", sys.executable, str(ROOT / "tests" / "patients" / "_fuse.py"), dead)
    wait_until(lambda: dead in lab.on("node2", "cat", "/proc/mounts"), within=20)
    number = submit(lab, f"{dead}/shard")
    wait_until(lambda: standing(lab), within=30)
    age(1.0)  # until it stands in its read
    lab.on("login", "scancel", number)
    wait_until(lambda: state(lab, number).startswith("COMPLETING"), within=30)
    age(2.0)
    said = lab.diagnose(f"slurm:{number}")
    wait_until(lambda: not state(lab, number), within=60)
    told = lab.rankscope("diagnose", f"slurm:{number}")
    beside = lab.diagnose("ssh:node2")
    lab.on("node2", "umount", "-f", dead)
    lab.on("login", "scontrol", "update", "nodename=node2", "state=resume")
    assert said["verdict"]["class"] == beside["verdict"]["class"] == "filesystem-stall"
    (gap,) = [gap for gap in said["gaps"] if gap["what"] == "Slurm job"]
    assert f"{number} is COMPLETING" in gap["detail"]
    assert not any("srun" in step for finding in said["findings"] for step in finding["next"])
    assert "node2 is drained: Kill task failed" in told.stderr
    assert "rankscope diagnose ssh:node2" in told.stderr
