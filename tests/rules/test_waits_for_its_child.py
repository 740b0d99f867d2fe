"""strace shows who asks again and again whether a child has ended, and where that child waits."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

CHILD = "$ strace -p 512\n{attached}\n{call}\n"
PARENT = (
    "$ strace -p 400\n{attached}\n"
    + "wait4({pid}, 0x7ffc10, WNOHANG, NULL) = {result}\nselect(0, NULL, NULL, NULL, NULL) = 0 (Timeout)\n" * 4
)
OLD, NEW = "Process {} attached - interrupt to quit", "strace: Process {} attached"


@pytest.mark.parametrize(
    ("head", "call", "pid", "result", "task", "told"),
    [
        (OLD, "read(31, ", 512, "0", "restart of the workers: waiting for 1 node", True),
        (NEW, "futex(0x7f01, FUTEX_WAIT_PRIVATE, 2, NULL", 512, "0", "systemctl stop pool: still deactivating", True),
        (NEW, "read(31, ", 513, "0", "systemctl stop pool: still deactivating", False),
        (NEW, "read(31, ", 512, "512", "systemctl stop pool: still deactivating", False),
        (NEW, "read(31, ", 512, "0", "the pool is at work", False),
        (NEW, 'read(31, "x", 1) = 1', 512, "0", "systemctl stop pool: still deactivating", False),
    ],
    ids=["old strace", "a lock", "another child", "it has ended", "nobody stops it", "its call came back"],
)  # fmt: skip
def test_a_child_that_does_not_end(
    head: str, call: str, pid: int, result: str, task: str, told: bool, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "child.txt").write_text(CHILD.format(attached=head.format(512), call=call))
    (tmp_path / "master.txt").write_text(PARENT.format(attached=head.format(400), pid=pid, result=result))
    (tmp_path / "console.txt").write_text(f"{task}\n")
    found = [one for one in judge(gather([tmp_path])).findings if one.rule == "ends-never"]
    assert any("asks in vain" in reason.text for one in found for reason in one.because) is told
