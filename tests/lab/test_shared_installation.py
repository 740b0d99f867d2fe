"""An installation that all hosts share is started from there; a changed one, or one of another user, never."""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

import rankscope
from harness.waiting import wait_until

from .conftest import ENTRY, HERE, Lab

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shared(lab: Lab) -> Iterator[pathlib.Path]:
    """A folder that every host sees, and that only root may write: the installation of the site."""
    place = lab.folder / "apps"
    copied(place / "rankscope")
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(place)], check=True)
    lab.stand()
    yield place
    lab.stop()


def copied(target: pathlib.Path) -> pathlib.Path:
    shutil.copytree(pathlib.Path(rankscope.__file__).parent, target)
    for path in (target, *target.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return target


def ways(lab: Lab, place: pathlib.Path, target: str = "ssh:node[1-3]", before: str = "") -> dict[str, str]:
    """What doctor says of each host, asked by the installation itself; ``before`` is done first."""
    words = ["env", f"PYTHONPATH={place}", sys.executable, "-c", before + ENTRY, "doctor", target, "--json"]
    done = subprocess.run([str(HERE / "testbed.sh"), "exec", "login", *words], env=lab.env,
                          capture_output=True, text=True, timeout=60)  # fmt: skip
    assert done.stdout, done.stderr
    return {way["host"]: f"{way['step']}: {way['detail']}" for way in json.loads(done.stdout)["ways"]}


def test_the_right_one_is_used_and_any_other_refused(lab: Lab, shared: pathlib.Path) -> None:
    before = ways(lab, shared)
    changed, strange = copied(lab.folder / "changed"), copied(lab.folder / "strange")
    for path in (changed / "probe").rglob("*.py*"):
        path.write_bytes(path.read_bytes() + b"\n")
    for path in (strange, *strange.rglob("*")):
        shutil.chown(path, "nobody")
    lab.on("node2", "mount", "--bind", str(changed), str(shared / "rankscope"), check=True)
    lab.on("node3", "mount", "--bind", str(strange), str(shared / "rankscope"), check=True)
    after = ways(lab, shared)
    for host in ("node2", "node3"):
        lab.on(host, "umount", str(shared / "rankscope"), check=True)
    used = "uses the installation there"
    assert all(told.startswith("all of it") for told in (*before.values(), *after.values())), (before, after)
    assert [used in before[host] for host in ("node1", "node2", "node3")] == [True, True, True], before
    assert [used in after[host] for host in ("node1", "node2", "node3")] == [True, False, False], after


@pytest.fixture
def job(lab: Lab) -> Iterator[str]:
    """The number of a Slurm job on all three nodes."""
    for tool in ("slurmctld", "slurmd", "munged", "srun"):
        if not shutil.which(tool, path="/usr/sbin:/usr/bin"):
            pytest.skip(f"{tool} is not installed")
    lab.bed("up", script="slurm.sh")
    script = lab.folder / "job.sh"
    script.write_text(f"#!/bin/sh\nexec srun env WORLD_SIZE=3 /usr/bin/python3 {HERE / 'stand.py'}\n")
    options = ["-N3", "--ntasks-per-node=1", "--chdir=/tmp", "-o", "/dev/null"]
    number = lab.on("login", "sbatch", "--parsable", *options, str(script), check=True).strip()
    tasks = ["scontrol", "listpids", f"{number}.0"]
    wait_until(lambda: all(lab.on(f"node{node}", *tasks).count("\n") > 1 for node in (1, 2, 3)), within=30)
    yield number
    lab.on("login", "scancel", number)
    lab.bed("down", script="slurm.sh", check=False)


@pytest.mark.parametrize("brings", ["the agent", "nothing"])
def test_under_slurm_as_well_in_the_one_step_that_is_started_anyway(
    lab: Lab, shared: pathlib.Path, job: str, brings: str
) -> None:
    """With an installation on a file server the step brings nothing; who does not see it there is sent everything."""
    served = "import rankscope.reach.slurm as slurm; slurm.served = lambda: True; " if brings == "nothing" else ""
    empty = lab.folder / "nothing"
    empty.mkdir(exist_ok=True)
    everywhere = ways(lab, shared, f"slurm:{job}", served)
    lab.on("node2", "mount", "--bind", str(empty), str(shared), check=True)
    not_on_one = ways(lab, shared, f"slurm:{job}", served)
    lab.on("node2", "umount", str(shared), check=True)
    used = "uses the installation there"
    hosts = ("node1", "node2", "node3")
    assert all(told.startswith("all of it") for told in (*everywhere.values(), *not_on_one.values())), not_on_one
    assert [used in everywhere[host] for host in hosts] == [True, True, True], everywhere
    assert [used in not_on_one[host] for host in hosts] == [True, False, True], not_on_one
