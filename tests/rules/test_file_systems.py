"""What file systems say of a live job: nothing left where it writes, and which mount a stalled call stands on."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import judging
from harness.waiting import wait_until
from rankscope.model.evidence.space import Mount
from rankscope.probe import mounts

INFO = b"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:20 / /dev/shm rw,nosuid - tmpfs tmpfs rw,size=64m
40 22 0:50 /exp /data/my\\040set rw - nfs4 server:/export rw,vers=4.2
nonsense
"""

# A writer that says nothing and tries again; its parent waits for it.
PARENT = """
import os, subprocess, sys
code = '''
import sys, time
with open(sys.argv[1], "ab", buffering=0) as out:
    full = False
    while True:
        try:
            out.write(b"x" * 65536)
        except OSError:
            if not full:
                print("full", flush=True)
            full = True
            time.sleep(30)
'''
child = subprocess.Popen([sys.executable, "-c", code, sys.argv[1]], stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
child.wait()
"""


@pytest.fixture
def writer(tmp_path: pathlib.Path) -> Iterator[tuple[int, int]]:
    """Pids of a parent and of its child, which writes to a file system of 1 MiB that is full."""
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "out", str(tmp_path)], capture_output=True, check=False
    ).returncode:
        pytest.skip("no right to mount a file system")
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path / f"{'p' * 90}.bin")], stdout=subprocess.PIPE)
    try:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        wait_until(lambda: _place(parent.pid) == "do_wait" and "nanosleep" in _place(child), what="both stand")
        yield parent.pid, child
        subprocess.run(["kill", "-9", str(child)], check=False)
        parent.wait(10)
    finally:
        parent.kill()
        parent.wait()
        subprocess.run(["umount", "-l", str(tmp_path)], check=False)


def _place(pid: int) -> str:
    """The function of the kernel in which a process sleeps (proc(5))."""
    return pathlib.Path(f"/proc/{pid}/wchan").read_text()


def test_a_full_disk_is_named_without_a_word_in_any_log(writer: tuple[int, int]) -> None:
    """The file system itself tells, and so do the file and the process that writes it."""
    look = judging.run("diagnose", "--json", f"pid:{writer[0]}", "--stuck-after", "0.1", "--interval", "0.3")
    assert look.diagnosis is not None, look.errors
    (cause,) = [one for one in look.diagnosis["findings"] if one["class"] == "storage-full"]
    assert (cause["kind"], cause["certainty"]) == ("cause", "likely")
    assert {process["pid"] for process in cause["processes"]} == {writer[1]}
    assert "ppp.bin where" in cause["title"], "the name is at the end of a long path"
    assert "0 bytes free of 1 MiB" in cause["because"][0]["text"]


def test_a_path_belongs_to_its_longest_mount_point() -> None:
    """Blanks in mount points are written as octal numbers."""
    known = mounts.parse(INFO)
    assert known.of_path("/data/my set/a.bin") == Mount("/data/my set", "nfs4", "server:/export")
    assert known.of_path("/dev/shmx/a") == Mount("/", "ext4", "/dev/sda1")
    assert [mount.kind for mount in known.served()] == ["nfs4"]


@given(st.binary(max_size=400))
def test_any_bytes_are_read_as_mounts_or_passed_over(raw: bytes) -> None:
    known = mounts.parse(raw)
    assert len(known.by_id) <= raw.count(b"\n") + raw.count(b"\r") + len(raw)
    known.of_path("/x")


def test_the_mounts_of_this_process_are_read() -> None:
    """A file that is open belongs to the mount that its path names."""
    known = mounts.read("/proc/self")
    with open(__file__) as file:
        assert mounts.of_fd("/proc/self", file.fileno(), known) == known.of_path(str(pathlib.Path(__file__).resolve()))
