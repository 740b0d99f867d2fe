"""Ranks of a real mpirun on three hosts, found from the pid of mpirun on the login node."""

from __future__ import annotations

import json
import sys

import pytest

from harness.waiting import wait_until

from .conftest import HERE, Lab, age
from .mpi import NODES, RELEASES, end, launch, pids

pytestmark = pytest.mark.slow
PYTHON = "/usr/bin/python3"


def clear(lab: Lab, name: str) -> None:
    """Nothing of the job is left, neither ranks nor daemons."""
    end(lab, name)
    words = f"lab/train.py|lab/stand.py|{RELEASES[name].daemon}"
    wait_until(lambda: not any(lab.on(host, "pgrep", "-f", words) for host in NODES), within=30)


def standing(lab: Lab, name: str, jobs: int = 1) -> list[str]:
    """The mpiruns of as many jobs whose ranks stand on all three nodes."""
    lab.log("login").unlink(missing_ok=True)
    for _ in range(jobs):
        launch(lab, name, PYTHON, str(HERE / "stand.py"))
    wait_until(lambda: lab.log("login").read_text().count("standing") == 3 * jobs, within=30)
    return pids(lab, name)


@pytest.mark.torch
@pytest.mark.parametrize("name", RELEASES)
def test_ranks_of_mpirun_are_found_from_its_pid(lab: Lab, name: str) -> None:
    pytest.importorskip("torch")
    lab.log("login").unlink(missing_ok=True)
    launch(lab, name, sys.executable, str(HERE / "train.py"), ODD="2", MASTER_ADDR="node1", MASTER_PORT="29533")
    wait_until(lambda: lab.said("sick"), within=90, what="a rank that is sick")
    age(2.5)
    (pid,) = pids(lab, name)
    said = lab.diagnose(f"mpi:{pid}")
    expanded = lab.rankscope("hosts", f"mpi:{pid}", "--expand").stdout.split()
    clear(lab, name)
    assert said["job"]["launcher"] == "mpi"
    assert said["verdict"]["class"] == "rank-stuck-in-user-code"
    assert said["verdict"]["ranks"] == [2]
    assert expanded == ["node1", "node2", "node3"]


@pytest.mark.parametrize("name", RELEASES)
def test_of_two_mpiruns_on_the_same_hosts_each_has_its_own_ranks(lab: Lab, name: str) -> None:
    both = standing(lab, name, jobs=2)
    said = [lab.diagnose(f"mpi:{pid}") for pid in both]
    done = lab.rankscope("diagnose", "ssh:node[1-3]", "--json")
    together = [json.loads(line) for line in done.stdout.splitlines()]
    clear(lab, name)
    assert [one["job"]["ranks"] for one in said] == [[0, 1, 2]] * 2
    assert all(one["verdict"] is None for one in said), [one["verdict"] for one in said]
    assert len(together) == 2, (done.returncode, done.stderr, together)


def test_a_rank_on_a_node_leads_to_all_hosts_of_its_mpirun(lab: Lab) -> None:
    """Nobody on that node can see mpirun itself; Open MPI 4 told its ranks where the others are."""
    standing(lab, "Open MPI 4")
    rank = lab.on("node2", "pgrep", "-f", "stand.py").split()[-1]
    listed = lab.rankscope("hosts", f"mpi:{rank}", host="node2").stdout
    said = lab.diagnose(f"mpi:{rank}", host="node2")
    alone = lab.diagnose("", host="node2")
    followed = lab.diagnose("", "--follow-hosts", host="node2")
    clear(lab, "Open MPI 4")
    assert listed.strip() == "node[1-3]"
    assert said["job"]["ranks"] == followed["job"]["ranks"] == [0, 1, 2]
    (gap,) = [gap for gap in alone["gaps"] if gap["what"] == "other hosts"]
    assert "node1, node3" in gap["detail"]


@pytest.mark.parametrize("name", ["Open MPI 5", "MPICH"])
def test_a_rank_on_a_node_leads_to_its_mpirun_where_the_nodes_are_not_told_of_each_other(lab: Lab, name: str) -> None:
    (pid,) = standing(lab, name)
    rank = lab.on("node2", "pgrep", "-f", "stand.py").split()[-1]
    listed = lab.rankscope("hosts", f"mpi:{rank}", host="node2")
    said = lab.diagnose(f"mpi:{rank}", host="node2")
    clear(lab, name)
    (gap,) = [gap for gap in said["gaps"] if gap["what"] == "other hosts"]
    assert listed.stdout.strip() == "node2"
    assert "there may be more hosts" in listed.stderr
    assert len(said["job"]["ranks"]) == 1
    assert "on login, rankscope diagnose mpi:" + (pid if name == "Open MPI 5" else "") in gap["hint"]


def test_hosts_that_other_daemons_were_started_from_are_known_as_well(lab: Lab) -> None:
    """With many hosts mpirun starts only the first daemons itself, and those the others."""
    lab.log("login").unlink(missing_ok=True)
    launch(
        lab,
        "Open MPI 5",
        "--prtemca",
        "prte_routed_radix",
        "1",
        PYTHON,
        str(HERE / "stand.py"),
        hosts=("login", *NODES),
    )
    wait_until(lambda: lab.log("login").read_text().count("standing") == 4, within=30)
    (pid,) = pids(lab, "Open MPI 5")
    started = lab.on("login", "pgrep", "-x", "ssh", "-P", pid).split()
    said = lab.diagnose(f"mpi:{pid}")
    clear(lab, "Open MPI 5")
    assert len(started) == 1
    assert said["job"]["ranks"] == [0, 1, 2, 3]
