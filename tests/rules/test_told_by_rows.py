"""Rows of tables by their mechanism: each in words of several programs, and what looks like it and is none."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Kind
from rankscope.pipeline import judge

MPI = "mpirun -np 4 python train.py, network InfiniBand (mlx5_0)\n"
CRASH = "[n3:51] Signal: Segmentation fault (11)\n[n3:51] Signal code: Address not mapped (1)\n"
LATE = "all ranks join a barrier of 20 s\n"


def rules(folder: pathlib.Path, text: str) -> set[str]:
    (folder / "notes.txt").write_text(text)
    return {one.rule for one in judge(gather([folder])).findings if one.kind is Kind.CAUSE}


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("meeting-point-taken", '  File "sched.py", line 8, in start\nucp._libs.exceptions.UCXError: Device is busy\n'),
        ("meeting-point-taken", "[UCX] ucp_listener_create() failed: Device is busy\n"),
        (
            "known-defect",
            "mpirun hangs; hwloc's XOpenDisplay is connected to 127.0.0.1:6001, where a dashboard listens\n",
        ),
        ("known-defect", "lstopo waits for an answer on localhost:6006\nLISTEN 0 128 127.0.0.1:6006 tensorboard\n"),
        ("known-defect", "orted is stuck, hwloc_gl.so is loaded\nthe store of another job has port 6000\n"),
        ("device-touched-before-fork", MPI + "DataLoader(num_workers=4), start method: fork\n" + CRASH),
        ("device-touched-before-fork", MPI + "MultiprocessIterator with the default start method\n" + CRASH),
        ("one-rank-prepares", LATE + "on one rank the first batch is not there when 20 s are over\n"),
        ("one-rank-prepares", LATE + "the first shard takes longer than the time-out\n"),
    ],
)
def test_a_mechanism_in_several_words(tmp_path: pathlib.Path, rule: str, text: str) -> None:
    assert rule in rules(tmp_path, text)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("meeting-point-taken", "umount: /data: target is busy\nthe device is busy with another step\n"),
        ("known-defect", "mpirun hangs, hwloc 2.7\nTensorBoard at http://localhost:6006/\n"),
        ("known-defect", "mpirun hangs; hwloc 2.7 is loaded; the store listens on 127.0.0.1:29500\n"),
        ("known-defect", "hwloc 2.7\nLISTEN 0 128 127.0.0.1:6006 tensorboard\nstep 1\nstep 2\nstep 3\n"),
        ("device-touched-before-fork", MPI + "DataLoader(num_workers=4), start method: spawn\n" + CRASH),
        ("device-touched-before-fork", "network ethernet\nDataLoader(num_workers=4), start method: fork\n" + CRASH),
        ("one-rank-prepares", LATE + "the first batch never comes, 20 s later the barrier ends\n"),
        ("one-rank-prepares", LATE + "the first batch is there 2 s after the start\n"),
    ],
)
def test_what_looks_like_it_is_none(tmp_path: pathlib.Path, rule: str, text: str) -> None:
    assert rule not in rules(tmp_path, text)
