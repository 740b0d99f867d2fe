"""Of a job that hangs, an ordinary figure or line of a program is not taken for the message of why."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.analysis.order import GUESS
from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Kind
from rankscope.pipeline import judge

CASES = [
    ("oom-kill", "rank 0: eval status: ok, took 137 ms\nrank 1: eval status: ok, took 131 ms\nthen it hangs in all_reduce"),
    ("oom-kill", "HTTP status 200 in 137 ms\nrank 3 stuck in all_gather"),
    ("rendezvous-port", "Warning: port 29500 Address already in use, using 29501 instead\nthe run hangs, workers stuck in recv"),
    ("storage-full", "squashfs 64M 64M 0 100% /var/lib/snapd/snap/core\nthe training hangs at step 12"),
    ("shm-exhausted", "Using /dev/shm 100% faster loader\nthe training hangs at step 12"),
]  # fmt: skip
MESSAGES = [
    ("oom-kill", "worker 1: exit code of the process was 137\nrank 3 stuck in all_gather"),
    ("oom-kill", "Main process exited, code=killed, status=137/n/a\nrank 3 stuck in all_gather"),
    ("rendezvous-port", "port 29500 is already in use. Please use another port\nthe run hangs in init_process_group"),
    ("storage-full", "/dev/sda1 1.8T 1.8T 0 100% /data\nthe training hangs at step 12"),
]


def classes(text: str, folder: pathlib.Path) -> set[str]:
    (folder / "train.log").write_text(text + "\n")
    causes = [finding for finding in judge(gather([folder])).findings if finding.kind is Kind.CAUSE]
    return {cause.cls for cause in causes if cause.rule != GUESS}  # what it only reads like is no message either


@pytest.mark.parametrize(("cls", "text"), CASES)
def test_a_figure_is_no_message(cls: str, text: str, tmp_path: pathlib.Path) -> None:
    assert cls not in classes(text, tmp_path)


@pytest.mark.parametrize(("cls", "text"), MESSAGES)
def test_the_message_itself_is_one(cls: str, text: str, tmp_path: pathlib.Path) -> None:
    assert cls in classes(text, tmp_path)
