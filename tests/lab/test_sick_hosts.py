"""Hosts that cannot be looked at in the usual way: other users' ranks, a home that hangs, no room, no Python."""

from __future__ import annotations

import pathlib
import re
import shutil
from collections.abc import Iterator

import pytest

from harness.waiting import wait_until

from .conftest import ROOT, Lab

pytestmark = pytest.mark.slow
USER = "hpc"
FUSE = ROOT / "tests" / "patients" / "_fuse.py"


@pytest.fixture
def standing(lab: Lab) -> Iterator[Lab]:
    lab.stand()
    yield lab
    lab.stop()


def ranks(said: dict[str, object]) -> object:
    job = said["job"]
    assert isinstance(job, dict)
    return job["ranks"]


def silent(said: dict[str, list[dict[str, str]]]) -> dict[str, str]:
    return {gap["host"]: gap["detail"] for gap in said["gaps"] if gap["what"] == "host"}


def bind(lab: Lab, host: str, text: str, path: str, mode: int) -> None:
    """Put a file of our own over one of the host's, which nobody but this host sees."""
    own = lab.folder / f"{host}{path.replace('/', '.')}"
    own.unlink(missing_ok=True)
    own.write_text(text)
    own.chmod(mode)
    lab.on(host, "mount", "--bind", str(own), path, check=True)


def test_an_ordinary_user_looks_at_ranks_of_another_through_sudo_where_it_is_allowed(standing: Lab) -> None:
    if not shutil.which("sudo"):
        pytest.skip("sudo is not installed")
    lab = standing
    shadow = lab.on("node1", "cat", "/etc/shadow") + f"{USER}:*:19000:0:99999:7:::\n"
    for host in ("node1", "node2"):
        bind(lab, host, f"root ALL=(ALL) ALL\n{USER} ALL=(root) NOPASSWD: ALL\n", "/etc/sudoers", 0o440)
        bind(lab, host, shadow, "/etc/shadow", 0o600)
    bind(lab, "node3", shadow, "/etc/shadow", 0o600)
    said = lab.diagnose("ssh:node[1-3]", "--sudo", user=USER)
    without = lab.rankscope("diagnose", "ssh:node[1-3]", user=USER)
    way = lab.rankscope("doctor", "ssh:node3", "--sudo", user=USER)
    for host in ("node1", "node2", "node3"):
        lab.on(host, "umount", "/etc/sudoers", "/etc/shadow")
    assert ranks(said) == [0, 1]
    assert list(silent(said)) == ["node3"]
    assert "sudo" in silent(said)["node3"]
    assert "start Python there" in way.stdout
    assert "--sudo" in str([finding["next"] for finding in said["findings"]])
    # Without it nothing of root's processes can be read, and the command that would help is printed.
    assert "--sudo" in without.stdout + without.stderr


def test_a_home_that_does_not_answer_costs_the_deadline_and_not_the_verdict(lab: Lab) -> None:
    """The login shell of the user hangs on its start-up file, as with a dead NFS server."""
    lab.stand(USER)
    home = str(lab.folder / "home")
    lab.start("node2", "/usr/bin/python3", str(FUSE), home)
    wait_until(lambda: "fuse" in lab.on("node2", "cat", "/proc/mounts"), within=20)
    said = lab.diagnose("ssh:node[1-3]", "--deadline", "6", user=USER)
    way = lab.rankscope("doctor", "ssh:node[1-3]", user=USER)
    lab.on("node2", "umount", "-f", home)
    lab.stop()
    lab.on("node2", "pkill", "-KILL", "-f", "_fuse.py")
    assert ranks(said) == [0, 2]
    assert list(silent(said)) == ["node2"]
    assert "no answer within" in silent(said)["node2"]
    assert "node2: stops at" in way.stdout


def test_a_host_without_room_is_looked_at_as_any_other(standing: Lab) -> None:
    lab = standing
    fill = "head -c 8M /dev/zero > /tmp/filler; head -c 8M /dev/zero > /dev/shm/filler; test -s /tmp/filler"
    lab.on("node2", "mount", "-o", "remount,size=1m", "/tmp")
    lab.on("node2", "mount", "-o", "remount,size=1m", "/dev/shm")
    lab.on("node2", "sh", "-c", f"({fill}) 2>/dev/null", check=True)
    said = lab.diagnose("ssh:node[1-3]")
    spied = lab.diagnose("ssh:node[1-3]", "--engine", "py-spy")
    lab.on("node2", "rm", "-f", "/tmp/filler", "/dev/shm/filler")
    lab.on("node2", "mount", "-o", "remount,size=1g", "/tmp")
    lab.on("node2", "mount", "-o", "remount,size=2g", "/dev/shm")
    assert ranks(said) == ranks(spied) == [0, 1, 2]
    assert silent(said) == silent(spied) == {}


def test_a_host_without_python_is_named_and_one_may_be_given(standing: Lab) -> None:
    lab = standing
    python = lab.on("node2", "readlink", "-f", "/usr/bin/python3").strip()
    keep = lab.folder / "python-kept"
    shutil.copy(python, keep)
    for path in {python, *lab.on("node2", "sh", "-c", "command -v python3 python3.9 python3.1[0-9]").split()}:
        lab.on("node2", "mount", "--bind", "/bin/false", path)
    said = lab.diagnose("ssh:node[1-3]")
    given = lab.diagnose("ssh:node[1-3]", "--remote-python", str(keep))
    lab.on(
        "node2", "sh", "-c", "for i in 1 2 3 4; do umount /usr/bin/python3* /usr/local/bin/python3*; done 2>/dev/null"
    )
    assert ranks(said) == [0, 2]
    assert "no Python 3.9 or newer" in silent(said)["node2"]
    assert ranks(given) == [0, 1, 2]


def test_the_environment_of_a_node_is_set_up_before_its_python_is_sought(standing: Lab) -> None:
    lab = standing
    said = lab.diagnose("ssh:node[1-3]", "--env-setup", 'test "$(hostname)" != node2', "--deadline", "8")
    assert ranks(said) == [0, 2]
    assert list(silent(said)) == ["node2"]


def test_a_host_with_a_wrong_clock_is_looked_at_in_step_and_its_clock_told(standing: Lab) -> None:
    lab = standing
    library = next(iter(pathlib.Path("/usr/lib").glob("*/faketime/libfaketime.so.1")), None)
    if library is None:
        pytest.skip("faketime is not installed")
    wrong = lab.folder / "python-of-yesterday"
    wrong.write_text(
        f'#!/bin/sh\n[ "$(hostname)" = node2 ] && export LD_PRELOAD={library} FAKETIME=-1d\nexec /usr/bin/python3 "$@"\n'
    )
    wrong.chmod(0o755)
    said = lab.diagnose("ssh:node[1-3]", "--remote-python", str(wrong))
    way = lab.rankscope("doctor", "ssh:node[1-3]", "--remote-python", str(wrong))
    clocks = {gap["host"]: gap["detail"] for gap in said["gaps"] if gap["what"] == "clock"}
    assert ranks(said) == [0, 1, 2]
    assert list(clocks) == ["node2"]
    assert re.fullmatch(r"the clock of node2 is 86[34]\d\d\.\d s behind ours", clocks["node2"])
    assert "its clock is 86" in way.stdout.replace("\n         ", " ")
