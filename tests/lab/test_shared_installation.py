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


def ways(lab: Lab, place: pathlib.Path) -> dict[str, str]:
    """What doctor says of each host, asked by the installation itself."""
    words = ["env", f"PYTHONPATH={place}", sys.executable, "-c", ENTRY, "doctor", "ssh:node[1-3]", "--json"]
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
