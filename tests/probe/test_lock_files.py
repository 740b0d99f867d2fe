"""Lock files are looked at without touching what else is open, and with no more rights than their process has."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rankscope.model.evidence.lock_files import LockFile
from rankscope.model.evidence.space import Mount
from rankscope.model.evidence.stacks import Local, PythonStacks, PythonThread, Stack
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.probe import procfs
from rankscope.probe.collector import Target
from rankscope.probe.collectors import lock_files


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has a lock open, by another name of its folder."""
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "lock").write_text("")
    (tmp_path / "link").symlink_to("build")
    script = "import sys; held = open(sys.argv[1]); print(1, flush=True); input()"
    command = [sys.executable, "-S", "-c", script, str(tmp_path / "link" / "lock")]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout
    child.stdout.readline()
    yield child
    child.communicate(b"\n")


def target(pid: int, path: Path) -> Target:
    local = Local(0, "path", str(path), "path")
    stacks = PythonStacks((PythonThread(pid, Stack(()), locals=(local,)),), "memory")
    ref = ProcessRef("here", pid, procfs.stat("/proc", pid).started)
    return Target(Process(ref, Role.RANK), seen={"python-stacks": stacks})


def test_who_has_the_file_open_is_found_and_no_other_file_is_touched(
    holder: subprocess.Popen[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another file may lie on a server that is gone: a question would stand still."""
    touched: list[str] = []
    stat = os.stat
    monkeypatch.setattr(os, "stat", lambda path, **more: (touched.append(os.fspath(path)), stat(path, **more))[1])
    look = target(os.getpid(), tmp_path / "build" / "lock")
    found = lock_files.collect(look)
    assert found is not None
    assert [one.holders for one in found.files] == [(holder.pid,)]
    assert len([path for path in touched if "/fd/" in path]) == 1
    monkeypatch.setattr(lock_files.procfs, "pids", lambda _: pytest.fail("the host is looked through once per run"))
    assert lock_files.collect(look) == found


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights to give up")
def test_a_process_does_not_get_others_files_looked_at(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    (closed / "lock").write_text("")
    script = "import os; os.setuid(65534); print(1, flush=True); input()"
    child: Any = subprocess.Popen(
        [sys.executable, "-S", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/"
    )
    child.stdout.readline()
    try:
        found = lock_files.collect(target(child.pid, closed / "lock"))
    finally:
        child.communicate(b"\n")
    assert found is not None
    assert found.files == (LockFile(str(closed / "lock")),)


@pytest.mark.parametrize(("kind", "served"), [("nfs4", True), ("fuse.sshfs", True), ("ext4", False), ("", None)])
def test_whether_hosts_may_share_the_file_is_told_by_its_mount(
    kind: str, served: bool | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lock").write_text("")
    mount = Mount("/", kind) if kind else None
    monkeypatch.setattr(lock_files.mounts, "of_fd", lambda path, fd, known: mount)
    found = lock_files.collect(target(os.getpid(), tmp_path / "lock"))
    assert found is not None
    assert [one.served for one in found.files] == [served]


def test_the_mount_of_a_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("")
    found = lock_files.collect(target(os.getpid(), tmp_path / "lock"))
    assert found is not None
    assert found.files[0].served is not None
