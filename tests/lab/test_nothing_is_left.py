"""A look leaves no process, no file and no open port on any host, however it ends."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

from harness.waiting import wait_until

from .conftest import ENTRY, HERE, ROOT, Lab

pytestmark = pytest.mark.slow
NODES = ("node1", "node2", "node3")
USER = "hpc"
OPEN = "cat /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6"
# The sources may lie below /tmp, and other tests that run meanwhile compile some.
FILES = "find /tmp /dev/shm /run /var/spool {home} 2>/dev/null | grep -v -e /sshd -e /proc/ -e {sources}/"


@pytest.fixture(scope="module")
def standing(lab: Lab) -> Iterator[Lab]:
    lab.stand(USER)
    yield lab
    lab.stop()


def agents(lab: Lab, host: str) -> list[str]:
    """Processes of a host that came with us: our loader's command line is like no other."""
    return lab.on(host, "pgrep", "-f", "base64,sys,zlib").split()


def anywhere(lab: Lab) -> dict[str, list[str]]:
    return {host: found for host in NODES if (found := agents(lab, host))}


def listening(lab: Lab) -> set[tuple[str, str]]:
    """Host and address of every port that is open to others."""
    found = set()
    for host in (*NODES, "login"):
        for line in lab.on(host, "sh", "-c", OPEN).splitlines():
            words = line.split()
            if len(words) > 3 and words[3] in ("0A", "07"):  # listening, or UDP without a peer
                found.add((host, words[1]))
    return found


def files(lab: Lab) -> dict[str, set[str]]:
    find = FILES.format(home=lab.folder / "home", sources=ROOT)
    return {host: set(lab.on(host, "sh", "-c", find).split()) for host in (*NODES, "login")}


def begin(lab: Lab, *more: str) -> subprocess.Popen[str]:
    """A look whose sweeps lie far apart, as far as the moment when every node has its agent at work."""
    words = ["diagnose", "ssh:node[1-3]", "--interval", "60", "--deadline", "90", *more]
    command = [str(HERE / "testbed.sh"), "exec", "login", sys.executable, "-c", ENTRY, *words]
    look = subprocess.Popen(
        command, env={**lab.env, "TB_AS": USER}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: set(anywhere(lab)) == set(NODES), within=30)
    return look


def signal(lab: Lab, name: str) -> None:
    lab.on("login", "pkill", f"-{name}", "-f", "rankscope.cli.main")


def test_a_look_that_ends_well(standing: Lab) -> None:
    lab = standing
    ports, kept = listening(lab), files(lab)
    done = lab.rankscope("diagnose", "ssh:node[1-3]", "--interval", "0.2", user=USER)
    assert "3 ranks on node1, node2, node3" in done.stdout
    wait_until(lambda: not anywhere(lab), within=5)
    assert files(lab) == kept
    assert listening(lab) == ports


def test_ctrl_c_at_the_login_node_ends_all_agents_and_nothing_listens_meanwhile(standing: Lab) -> None:
    lab = standing
    ports, kept = listening(lab), files(lab)
    raw = lab.folder / "home" / "raw"
    look = begin(lab, "--raw-dir", str(raw))
    wait_until(lambda: sum(b"\n:" in one.read_bytes() for one in raw.glob("*")) == len(NODES), within=30)
    assert listening(lab) == ports
    signal(lab, "INT")
    said, errors = look.communicate(timeout=20)
    wait_until(lambda: not anywhere(lab), within=5)
    assert look.returncode == 130, said + errors
    assert "interrupted" in errors
    assert "3 ranks" in said, said + errors
    shutil.rmtree(raw)
    assert files(lab) == kept


def test_a_login_process_that_is_killed_takes_its_agents_along(standing: Lab) -> None:
    lab = standing
    kept = files(lab)
    look = begin(lab)
    signal(lab, "KILL")
    look.communicate(timeout=20)
    wait_until(lambda: not anywhere(lab), within=5)
    assert files(lab) == kept


def test_a_connection_that_is_cut_ends_the_agent_by_its_alarm(standing: Lab) -> None:
    """No packet reaches the node any more: nothing tells its agent but its own clock."""
    lab = standing
    kept = files(lab)
    look = begin(lab, "--interval", "4", "--deadline", "6")
    lab.bed("blackhole", "node2", script="net.sh")
    said, _ = look.communicate(timeout=40)
    wait_until(lambda: not anywhere(lab), within=30)
    lab.bed("heal", script="net.sh")
    assert "node2" in said
    assert files(lab) == kept
