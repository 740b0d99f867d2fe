"""Ranks of a real mpirun on three hosts, found from the pid of mpirun on the login node."""

from __future__ import annotations

import shutil
import sys

import pytest

from harness.waiting import wait_until

from .conftest import HERE, Lab, age

pytestmark = [pytest.mark.torch, pytest.mark.slow]
NAMES = ("MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS", "GLOO_SOCKET_IFNAME", "PYTHONUNBUFFERED", "ODD")


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
    assert said["job"]["launcher"] == "mpi"
    assert said["verdict"]["class"] == "rank-stuck-in-user-code"
    assert said["verdict"]["ranks"] == [2]
    assert expanded == ["node1", "node2", "node3"]
