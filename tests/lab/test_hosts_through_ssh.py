"""A training over three hosts, looked at from the login node, while things go wrong on one of them."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator

import pytest

from harness.waiting import wait_until

from .conftest import ROOT, Lab, age

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

    # Every command that is printed works as it stands: the line of source is shown, native frames are taken there.
    (step,) = [one for one in said["findings"][0]["next"] if one.startswith("rankscope stacks")]
    shown = lab.rankscope(*shlex.split(step)[1:])
    assert "ssh:node2 --ranks 1" in step
    assert re.search(r">\s+\d+\s+time\.sleep\(3600\)", shown.stdout), shown.stdout + shown.stderr
    native = lab.rankscope("stacks", "ssh:node[1-3]", "--ranks", "1", "--native")
    assert "nanosleep" in native.stdout
    assert "pausing rank 1" in native.stderr
    assert "longest pause" in native.stdout

    # From one of its hosts, without any list: the others are named, and asked on request.
    alone = lab.diagnose("", host="node1")
    assert alone["job"]["ranks"] == [0]
    assert [gap["what"] for gap in alone["gaps"] if "--follow-hosts" in gap["hint"]] == ["other hosts"]
    followed = lab.diagnose("", "--follow-hosts", host="node1")
    assert followed["job"]["ranks"] == [0, 1, 2]
    assert followed["verdict"]["ranks"] == [1]

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


def test_a_loader_that_reads_from_a_dead_server_on_one_host_is_the_cause(lab: Lab) -> None:
    pytest.importorskip("torch")
    lab.on("node2", "mkdir", "-p", "/tmp/dead")
    lab.start("node2", sys.executable, str(ROOT / "tests" / "patients" / "_fuse.py"), "/tmp/dead")
    wait_until(lambda: "/tmp/dead" in lab.on("node2", "cat", "/proc/mounts"), within=20)
    lab.torchrun(odd=1, DEAD="/tmp/dead/shard")
    age(3.5)
    said = lab.diagnose("ssh:node[1-3]")
    lab.on("node2", "umount", "-f", "/tmp/dead")
    lab.on("node2", "pkill", "-KILL", "-f", "_fuse.py")
    lab.stop()
    assert said["verdict"]["class"] == "filesystem-stall"
    assert {process["host"] for process in said["findings"][0]["processes"]} == {"node2"}
    assert {process["role"] for process in said["findings"][0]["processes"]} == {"dataloader-worker"}
    assert "/tmp/dead" in str(said["findings"][0]["because"])
    assert said["job"]["ranks"] == [0, 1, 2]
