"""Pipes and sockets that a job has: named for ranks whose recorder could not be read, and never touched."""

from __future__ import annotations

from rankscope.analysis.build import build
from rankscope.analysis.doors import doors
from rankscope.model.evidence.environ import Environ
from rankscope.model.evidence.recorder import Recorder, RecorderEntry
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep

VALUES = {"TORCH_NCCL_DEBUG_INFO_PIPE_FILE": "/tmp/my pipe_", "TORCH_WORKER_SERVER_SOCKET": "/run/w.sock;reboot"}


def named(*records: object) -> list[str]:
    ref = ProcessRef("here", 100, 1)
    items = tuple(Item(ref, record) for record in records)
    process = Process(ref, Role.RANK, rank=3)
    return list(doors(build(Snapshot(Job("torchrun"), (), (process,), (Sweep(0, 0.0, (ref,), items),)))))


def test_the_doors_of_a_rank_without_a_recorder_are_named():
    """What the job says is quoted: it is pasted into a shell."""
    pipe, socket = named(Environ(VALUES))
    assert pipe.startswith("echo 1 > '/tmp/my pipe_3.pipe'")
    assert "--unix-socket '/run/w.sock;reboot' -X POST" in socket


def test_a_rank_whose_recorder_was_read_needs_no_door():
    entry = RecorderEntry(0, "0", "dp", 0, "all_reduce", done=True)
    assert named(Environ(VALUES), Recorder((entry,))) == []
    assert named(Environ({})) == []
