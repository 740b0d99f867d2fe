"""Ranks of a real mpirun on three hosts, found from the pid of mpirun on the login node."""

from __future__ import annotations

import shutil
import sys

import pytest

from harness.waiting import wait_until

from .conftest import HERE, Lab, age

pytestmark = pytest.mark.slow
NAMES = ("MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS", "GLOO_SOCKET_IFNAME", "PYTHONUNBUFFERED", "ODD")


@pytest.mark.torch
def test_ranks_of_mpirun_are_found_from_its_pid(lab: Lab) -> None:
    pytest.importorskip("torch")
    if not shutil.which("mpirun"):
        pytest.skip("mpirun is not installed")
    hosts = lab.folder / "hosts.mpi"
    hosts.write_text("".join(f"node{number} slots=1\n" for number in (1, 2, 3)))
    passed = [word for name in NAMES for word in ("-x", name)]
    lab.start("login", "mpirun", "--allow-run-as-root", "--hostfile", str(hosts), "-np", "3",
              "--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0", *passed,
              sys.executable, str(HERE / "train.py"), ODD="2", MASTER_ADDR="node1", MASTER_PORT="29533")  # fmt: skip
    wait_until(lambda: lab.said("sick"), within=90, what="a rank that is sick")
    age(2.5)
    pid = lab.on("login", "pgrep", "-x", "mpirun").split()[0]
    said = lab.diagnose(f"mpi:{pid}")
    expanded = lab.rankscope("hosts", f"mpi:{pid}", "--expand").stdout.split()
    lab.on("login", "pkill", "-x", "mpirun")
    wait_until(
        lambda: not any(lab.on(f"node{number}", "pgrep", "-f", "lab/train.py") for number in (1, 2, 3)), within=30
    )
    assert said["job"]["launcher"] == "mpi"
    assert said["verdict"]["class"] == "rank-stuck-in-user-code"
    assert said["verdict"]["ranks"] == [2]
    assert expanded == ["node1", "node2", "node3"]


def test_a_rank_on_a_node_leads_to_all_hosts_of_its_mpirun(lab: Lab) -> None:
    """Nobody on that node can see mpirun itself; Open MPI told its ranks where the others are."""
    if not shutil.which("mpirun"):
        pytest.skip("mpirun is not installed")
    hosts = lab.folder / "hosts.mpi"
    hosts.write_text("node1 slots=1\nnode2 slots=1\nnode3 slots=1\n")
    lab.log("login").unlink(missing_ok=True)
    lab.start("login", "mpirun", "--allow-run-as-root", "--hostfile", str(hosts), "-np", "3", "--mca", "btl_tcp_if_include",
              "eth0", "--mca", "oob_tcp_if_include", "eth0", "/usr/bin/python3", str(HERE / "stand.py"))  # fmt: skip
    wait_until(lambda: lab.log("login").read_text().count("standing") == 3, within=30)
    rank = lab.on("node2", "pgrep", "-f", "stand.py").split()[-1]
    listed = lab.rankscope("hosts", f"mpi:{rank}", host="node2").stdout
    said = lab.diagnose(f"mpi:{rank}", host="node2")
    alone = lab.diagnose("", host="node2")
    followed = lab.diagnose("", "--follow-hosts", host="node2")
    lab.on("login", "pkill", "-x", "mpirun")
    assert listed.strip() == "node[1-3]"
    assert said["job"]["ranks"] == followed["job"]["ranks"] == [0, 1, 2]
    (gap,) = [gap for gap in alone["gaps"] if gap["what"] == "other hosts"]
    assert "node1, node3" in gap["detail"]
