"""Differences over ranks are told, and accuse nobody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping

import pytest

from harness import judging
from rankscope.model.diagnosis import Finding, Kind
from rankscope.model.evidence.environ import Environ
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.evidence.versions import Versions
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import judge

RENDEZVOUS = Stack(
    [
        Frame("main", "/job/train.py", 3),
        Frame("init_process_group", "/x/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", 9),
    ]
)
LOOP = Stack([Frame("main", "/job/train.py", 7)])


def job(environs: list[Mapping[str, str]], versions: list[Mapping[str, str]] | None = None, stack: Stack = LOOP,
        per_host: int = 8) -> Snapshot:  # fmt: skip
    """A job of as many ranks as there are environments, all of which stand still in one place."""
    processes, items = [], []
    for rank, values in enumerate(environs):
        ref = ProcessRef(f"node{rank // per_host}", 100 + rank, 1)
        processes.append(Process(ref, Role.RANK, rank=rank, local_rank=rank % per_host, world_size=len(environs)))
        still = KernelThread(ref.pid, "python", "S", voluntary=3, involuntary=0, still_s=99.0)
        thread = PythonThread(ref.pid, stack, "MainThread")
        records = [
            Environ(values),
            Threads((still,)),
            PythonStacks((thread,), engine="test"),
            Versions((versions or [{}] * 99)[rank]),
        ]
        items.extend(Item(ref, record) for record in records)
    refs = tuple(process.ref for process in processes)
    sweeps = tuple(Sweep(n, float(n), refs, tuple(items)) for n in (0, 1))
    return Snapshot(Job("torchrun", world_size=len(environs)), (), tuple(processes), sweeps)


def said(snapshot: Snapshot) -> list[Finding]:
    return [finding for finding in judge(snapshot).findings if finding.rule == "ranks-differ"]


def test_equal_ranks_are_not_spoken_of() -> None:
    """Visible devices, log files and per-rank adapters differ in every healthy job."""
    environs = [
        {"CUDA_VISIBLE_DEVICES": str(n), "NCCL_DEBUG_FILE": f"/l/{n}", "NCCL_PROTO": "Simple", "GLOO_SOME": f"own{n}"}
        for n in range(4)
    ]
    assert said(job(environs, [{"torch": "2.13.0"}] * 4)) == []


def test_the_odd_rank_is_named() -> None:
    """Rank 2 alone has another value of a setting; one that is not set counts as a value."""
    (note,) = said(job([{}, {}, {"NCCL_PROTO": "LL"}, {}]))
    assert (note.kind, str(note.ranks), note.cls) == (Kind.NOTE, "2", "version-mismatch")
    assert "rank 2: LL" in note.because[0].text


def test_a_local_rank_may_have_a_setting_of_its_own() -> None:
    """The same pattern on each host is a design, not an accident."""
    environs = [{"NCCL_NET": "a" if n % 2 else "b"} for n in range(4)]
    assert said(job(environs, per_host=2)) == []
    assert said(job(environs, per_host=4)) != []


def test_another_version_is_a_note_while_the_job_is_past_its_first_meeting() -> None:
    versions = [{"torch": "2.13.0"}, {"torch": "2.12.1"}, {"torch": "2.13.0"}]
    (note,) = said(job([{}] * 3, versions))
    assert (note.kind, str(note.ranks)) == (Kind.NOTE, "1")


def test_another_version_is_a_possible_cause_where_all_meet_and_none_goes_on() -> None:
    versions = [{"torch": "2.13.0"}, {"torch": "2.12.1"}, {"torch": "2.13.0"}]
    (cause,) = said(job([{}] * 3, versions, RENDEZVOUS))
    assert (cause.kind, cause.certainty.value) == (Kind.CAUSE, "possible")
    (interface,) = said(job([{}, {"GLOO_SOCKET_IFNAME": "eth1"}, {}], None, RENDEZVOUS))
    assert (interface.kind, interface.cls) == (Kind.NOTE, "wrong-interface")


@pytest.fixture
def three() -> Iterator[int]:
    """Three ranks of a shell script; rank 1 was given another NCCL_ALGO."""
    code = """
import os, subprocess, sys
children = [subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE,
    env={**os.environ, "RANK": str(n), "WORLD_SIZE": "3", "NCCL_ALGO": "Tree" if n == 1 else "Ring"}) for n in range(3)]
print("ready", flush=True)
sys.stdin.read()
[child.kill() for child in children]
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ}
    )
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"ready\n"
    yield parent.pid
    parent.communicate(timeout=20)


def test_a_live_job_shows_the_setting_that_differs(three: int) -> None:
    look = judging.run("diagnose", "--json", f"pid:{three}", "--interval", "0.2")
    assert look.diagnosis is not None, look.errors
    (note,) = [finding for finding in look.diagnosis["findings"] if finding["rule"] == "ranks-differ"]
    assert (note["kind"], note["ranks"]) == ("note", [1])
    assert "NCCL_ALGO" in json.dumps(note["because"])
