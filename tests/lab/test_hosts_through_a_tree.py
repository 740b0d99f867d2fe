"""ClusterShell's tree mode, only when it is asked for: with a gateway that serves, and with one that dies in the middle."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from harness.waiting import wait_until

from .conftest import ENTRY, HERE, Lab

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tree(lab: Lab) -> Iterator[pathlib.Path]:
    """The folder of a topology in which the login node reaches the others through node1."""
    folder = lab.folder / "clustershell"
    folder.mkdir()
    (folder / "topology.conf").write_text("[routes]\nlogin: node1\nnode1: node[2-3]\n")
    lab.stand()
    yield folder
    lab.stop()


def start(lab: Lab, folder: pathlib.Path, *more: str) -> subprocess.Popen[str]:
    about = [f"CLUSTERSHELL_CFGDIR={folder}", f"CLUSTERSHELL_GW_PYTHON_EXECUTABLE={sys.executable}"]
    words = ["env", *about, sys.executable, "-c", ENTRY, "diagnose", "ssh:node[1-3]", "--json", *more]
    return subprocess.Popen([str(HERE / "testbed.sh"), "exec", "login", *words], env=lab.env, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip


def ended(look: subprocess.Popen[str]) -> dict[str, Any]:
    said, errors = look.communicate(timeout=60)
    assert said, errors
    first: dict[str, Any] = json.loads(said.splitlines()[0])
    return first


def gateways(lab: Lab) -> list[str]:
    return lab.on("node1", "pgrep", "-f", "ClusterShell.Gateway").split()


def test_hosts_are_asked_through_the_gateway_on_request_only(lab: Lab, tree: pathlib.Path) -> None:
    look = start(lab, tree, "--tree", "--interval", "2")
    wait_until(lambda: gateways(lab), within=20)
    assert ended(look)["job"]["ranks"] == [0, 1, 2]
    direct = start(lab, tree, "--interval", "2")
    wait_until(lambda: lab.on("node2", "pgrep", "-f", "base64,sys,zlib"), within=20)
    assert not gateways(lab)
    assert ended(direct)["job"]["ranks"] == [0, 1, 2]


def test_a_gateway_that_vanishes_costs_half_of_the_time_and_no_answer_of_the_others(
    lab: Lab, tree: pathlib.Path
) -> None:
    began = time.monotonic()
    look = start(lab, tree, "--tree", "--deadline", "16", "--interval", "3")
    wait_until(lambda: gateways(lab), within=20)
    lab.bed("blackhole", "node1", script="net.sh")
    said = ended(look)
    lab.bed("heal", script="net.sh")
    assert said["job"]["ranks"] == [1, 2]
    assert [gap["host"] for gap in said["gaps"] if gap["what"] == "host"] == ["node1"]
    assert time.monotonic() - began < 40


def test_without_a_topology_the_request_is_refused_in_words(lab: Lab, tmp_path: pathlib.Path) -> None:
    empty = lab.folder / "no-topology"
    empty.mkdir(exist_ok=True)
    look = start(lab, empty, "--tree")
    _, errors = look.communicate(timeout=30)
    assert look.returncode == 2
    assert "topology.conf" in errors
