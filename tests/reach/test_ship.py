"""The agent as one file, and the command that receives it."""

from __future__ import annotations

import io
import json
import os
import pathlib
import pwd
import shutil
import subprocess
import zipfile

import pytest

from rankscope.reach import ship

HEAD = {"alarm_s": 5, "errand": {}, "files": [], "magic": "", "home": "", "source": "", "code": "", "tool": None,
        "may_send_code": False, "sent": ["source"]}  # fmt: skip
NOT_OURS = json.dumps(HEAD).encode() + b"\n5\nabc"


def test_equal_sources_give_equal_bytes() -> None:
    first = ship.archive()
    ship.archive.cache_clear()
    assert ship.archive() == first


def test_the_archive_holds_the_rooms_that_run_beside_a_sick_process_and_no_others() -> None:
    names = zipfile.ZipFile(io.BytesIO(ship.archive())).namelist()
    assert {name.split("/")[1] for name in names if name.count("/") > 1} == set(ship.ROOMS)
    assert "rankscope/probe/agent.py" in names


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "zsh", "csh", "fish"])
def test_the_command_survives_every_login_shell(shell: str) -> None:
    """A parcel that is not ours makes the loader stop with its own message: so it was reached, whatever the shell."""
    try:
        done = subprocess.run([shell, "-c", ship.shell_line()], input=NOT_OURS, capture_output=True, timeout=30)
    except FileNotFoundError:
        pytest.skip(f"{shell} is not installed")
    assert b"the program arrived in part" in done.stderr


def test_a_node_without_python_says_so_in_words() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", ship.script()], input=b"", capture_output=True, timeout=30, env={"PATH": "/nonexistent"}
    )
    assert done.stdout.startswith(b"rankscope-agent 1 refuse no Python")


def test_without_a_python_on_the_path_the_jobs_own_is_used_by_its_user_and_never_by_root(
    tmp_path: pathlib.Path,
) -> None:
    """A path with three small tools and no Python, and a job whose interpreter can be seen in /proc."""
    python = "/usr/bin/python3"
    if os.geteuid() != 0 or not os.path.exists(python):
        pytest.skip("needs root, to become two users, and a Python that both may run")
    for tool in ("sh", "id", "readlink"):
        (tmp_path / tool).symlink_to(str(shutil.which(tool)))
    for folder in (tmp_path, *tmp_path.parents):
        if str(folder).startswith("/tmp/pytest"):
            folder.chmod(0o755)
    nobody = pwd.getpwnam("nobody").pw_uid
    job = subprocess.Popen([python, "-c", "import time; time.sleep(60)"], user=nobody)
    try:
        said = {
            user: subprocess.run(["/bin/sh", "-c", ship.script()], input=NOT_OURS, capture_output=True,
                                 timeout=30, env={"PATH": str(tmp_path)}, user=user)
            for user in (nobody, 0)
        }  # fmt: skip
    finally:
        job.kill()
        job.wait()
    assert b"the program arrived in part" in said[nobody].stderr
    assert b"refuse no Python" in said[0].stdout


@pytest.mark.parametrize(("kind", "served"), [("nfs4", True), ("lustre", True), ("ext4", False), ("tmpfs", False)])
def test_an_installation_on_a_file_server_is_expected_on_the_nodes(
    kind: str, served: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(ship._HOME.parent)
    lines = f"21 1 8:1 / / rw - ext4 /dev/sda1 rw\n22 21 0:40 / {place} rw - {kind} server:/apps rw\n"
    monkeypatch.setattr(ship.mounts, "read", lambda path: ship.mounts.parse(lines.encode()))
    assert ship.served.__wrapped__() is served
