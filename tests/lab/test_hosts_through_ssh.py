"""A training over three hosts, looked at from the login node, while things go wrong on one of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .conftest import Lab, age

pytestmark = [pytest.mark.torch, pytest.mark.slow]


@pytest.fixture
def training(lab: Lab) -> Iterator[Lab]:
    pytest.importorskip("torch")
    lab.torchrun()
    yield lab
    lab.stop()


def test_a_rank_that_stands_on_one_host_is_named_from_the_login_node(lab: Lab) -> None:
    pytest.importorskip("torch")
    lab.torchrun(odd=1)
    age(2.5)
    said = lab.diagnose("ssh:node[1-3]")
    assert said["code"] == 1
    assert said["verdict"]["class"] == "rank-stuck-in-user-code"
    assert said["verdict"]["ranks"] == [1]
    assert said["job"]["hosts"] == ["node1", "node2", "node3"]
    assert {process["host"] for process in said["findings"][0]["processes"]} == {"node2"}

    # The same job, and another host drops every packet: the verdict stands, the host is named.
    lab.bed("blackhole", "node3", script="net.sh")
    said = lab.diagnose("ssh:node[1-3]", "--deadline", "8")
    lab.bed("heal", script="net.sh")
    lab.stop()
    assert said["verdict"]["ranks"] == [1]
    assert [gap["host"] for gap in said["gaps"] if gap["what"] == "host"] == ["node3"]


def test_faults_of_one_host_after_the_other(training: Lab) -> None:
    lab = training
    said = lab.diagnose("ssh:node[1-3]")
    assert (said["job"]["state"], said["verdict"], said["code"]) == ("moving", None, 0)

    # No sshd on one host: the job moves, and the host is named with its reason.
    lab.on("node2", "sh", "-c", "kill $(cat /run/sshd.pid)")
    said = lab.diagnose("ssh:node[1-3]")
    (gap,) = [gap for gap in said["gaps"] if gap["what"] == "host"]
    assert (gap["host"], said["verdict"], said["job"]["state"]) == ("node2", None, "moving")
    assert "refuses ssh" in gap["detail"]
    lab.on("node2", "/usr/sbin/sshd", "-f", f"{lab.folder}/node2/sshd_config", "-E", f"{lab.folder}/node2/sshd.log")

    # All ranks of one host are stopped.
    lab.on("node2", "pkill", "-STOP", "-f", "lab/train.py$")
    age(2.5)
    said = lab.diagnose("ssh:node[1-3]")
    assert said["verdict"]["class"] == "process-stopped"
    assert said["verdict"]["ranks"] == [1]
    lab.on("node2", "pkill", "-CONT", "-f", "lab/train.py$")

    # A switch drops what two hosts send each other; both can be reached from here, and both ends of the connection are seen.
    lab.bed("partition", "node2", "node3", script="net.sh")
    age(3.5)
    said = lab.diagnose("ssh:node[1-3]")
    lab.bed("heal", script="net.sh")
    assert said["verdict"]["class"] == "network-blackhole"
    assert {process["host"] for process in said["findings"][0]["processes"]} == {"node2", "node3"}

    # One host loses its power: it is the verdict, since its rank is what the others wait for.
    lab.bed("poweroff", "node3")
    age(2.5)
    said = lab.diagnose("ssh:node[1-3]", "--deadline", "8")
    lab.bed("boot", "node3")
    assert said["verdict"]["class"] == "network-blackhole"
    assert said["verdict"]["ranks"] == [2]
    assert "node3" in said["verdict"]["title"]
    assert said["code"] == 1
