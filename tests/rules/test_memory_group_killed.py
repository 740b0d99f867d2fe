"""A process that its control group's limit ended is named, with the group that counts it."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import uuid
from collections.abc import Iterator

import pytest

from harness import judging
from rankscope.probe.collectors.cgroup import group_of, look

MEMORY = pathlib.Path("/sys/fs/cgroup/memory")
PARENT = """
import multiprocessing, os, pathlib, sys
def convert(answers):
    answers.put(sum(map(len, [os.urandom(1 << 20) for _ in range(211)])))
if __name__ == "__main__":
    pathlib.Path(sys.argv[1], "cgroup.procs").write_text(str(os.getpid()))
    answers = multiprocessing.get_context("fork").Queue()
    child = multiprocessing.get_context("fork").Process(target=convert, args=(answers,))
    child.start()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    print(child.pid, flush=True)
    answers.get()
"""


@pytest.fixture
def victim() -> Iterator[tuple[int, int]]:
    """A parent and its child in one memory group of 64 MiB; the child was killed for memory, the parent waits for it."""
    folder = MEMORY / f"rankscope-{uuid.uuid4().hex[:8]}"
    try:
        folder.mkdir()
        (folder / "memory.limit_in_bytes").write_text(str(64 << 20))
    except OSError:
        pytest.skip("needs root and the memory controller of cgroups version 1")
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(folder)], stdout=subprocess.PIPE)
    try:
        assert parent.stdout is not None
        yield parent.pid, int(parent.stdout.readline())
    finally:
        parent.kill()
        parent.wait()
        folder.rmdir()


def test_a_child_killed_for_memory_is_named_as_such(victim: tuple[int, int]) -> None:
    """The kernel's count and the signal together say more than "a child is gone"."""
    parent, child = victim
    look = judging.run("diagnose", "--json", f"pid:{parent}", "--stuck-after", "0.1", "--interval", "0.3")
    assert look.diagnosis is not None, look.errors
    assert look.diagnosis["verdict"]["class"] == "oom-kill", look.diagnosis["findings"]
    first = look.diagnosis["findings"][0]
    assert child in {process["pid"] for process in first["processes"]}
    assert "SIGKILL" in first["because"][0]["text"]
    assert "limit 64 MiB" in first["because"][1]["text"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("0::/job/step\n", (2, "/job/step")),
        ("9:name=systemd:/\n4:cpu,memory:/a:b\n0::/\n", (1, "/a:b")),
        ("0::/gone (deleted)\n", (2, "/gone")),
        ("0::/../other\n", None),
        ("", None),
    ],
)
def test_the_group_that_bounds_memory_is_found(text: str, place: tuple[int, str] | None) -> None:
    assert group_of(text) == place


def test_version_two_counts_in_one_file(tmp_path: pathlib.Path) -> None:
    group = tmp_path / "job"
    group.mkdir()
    (group / "memory.events").write_text("low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\n")
    (group / "memory.max").write_text("max\n")
    (group / "memory.current").write_text("4096\n")
    found = look(2, "/job", os.fspath(tmp_path))
    assert found is not None
    assert (found.oom_kills, found.reached, found.limit_bytes, found.usage_bytes) == (1, 7, None, 4096)
    assert look(2, "/elsewhere", os.fspath(tmp_path)) is None
