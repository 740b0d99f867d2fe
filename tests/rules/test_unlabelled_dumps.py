"""What people really save: py-spy of every Python process of a host, in files called after pids, without a rank anywhere."""

from __future__ import annotations

import pathlib

import pytest

from rankscope import pipeline
from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Diagnosis

DUMP = 'Process {pid}: python train.py\nPython v3.11.7 (/usr/bin/python3.11)\n\nThread {pid} (idle): "MainThread"\n{frames}\n'
AGENT = (
    "    _invoke_run (torch/distributed/elastic/agent/server/api.py:923)\n"
    "    launch_agent (torch/distributed/launcher/api.py:374)\n    <module> (torch/distributed/run.py:1032)"
)
REDUCES = (
    "    all_reduce (torch/distributed/distributed_c10d.py:3252)\n    fit (train.py:24)\n    <module> (train.py:30)"
)
BACKWARD = "    _engine_run_backward (torch/autograd/graph.py:979)\n    fit (train.py:29)\n    <module> (train.py:30)"
BROADCASTS = (
    "    broadcast (torch/distributed/distributed_c10d.py:3151)\n    fit (train.py:25)\n    <module> (train.py:30)"
)
REFRESHES = "    refresh (train.py:16)\n    fit (train.py:26)\n    <module> (train.py:30)"


def judged(folder: pathlib.Path, stacks: dict[int, str]) -> Diagnosis:
    for pid, frames in stacks.items():
        text = DUMP.format(pid=pid, frames=frames)
        agent = "-m torch.distributed.run train.py" if frames == AGENT else "train.py"
        (folder / f"{pid}.txt").write_text(text.replace("train.py\n", f"{agent}\n", 1))
    return pipeline.judge(gather([folder]), 30.0)


@pytest.mark.parametrize(
    ("others", "odd", "cls"),
    [(REDUCES, BROADCASTS, "collective-missed-by-rank"), (BACKWARD, REFRESHES, "rank-stuck-in-user-code")],
)
def test_the_odd_one_is_named_by_its_pid(tmp_path: pathlib.Path, others: str, odd: str, cls: str) -> None:
    """Processes of one command are ranks, though nobody says which; where they stand counts, however well it reads."""
    verdict = judged(tmp_path, {700: AGENT, 701: others, 702: others, 703: odd, 704: others}).verdict
    assert verdict is not None
    assert (verdict.cls, "703" in verdict.title) == (cls, True)


def test_ranks_that_stand_together_accuse_nobody(tmp_path: pathlib.Path) -> None:
    diagnosis = judged(tmp_path, {700: AGENT, 701: REDUCES, 702: REDUCES, 703: REDUCES})
    assert not any("70" in finding.title for finding in diagnosis.findings)
