"""Who died of a call whose sizes differ is a victim: gloo aborts the receiver that has too little room."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rankscope import pipeline
from rankscope.model.evidence.recorder import GroupConfig, Recorder
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep

from .test_deadlines import SECOND, recorder

C10D = "/v/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"
WORLD = (GroupConfig("0", "default_pg", (0, 1, 2, 3)),)


def judged(odd: dict[str, object]):
    """Ranks 0, 2 and 3 of a job of four that waits for long; rank 2 issued its last call another way."""
    refs = {rank: ProcessRef("here", 100 + rank, 1) for rank in (0, 2, 3)}
    items = []
    for rank, ref in refs.items():
        made = recorder(100, 400, 1800)
        last = replace(
            made.entries[-1], **{"backend": "gloo", "input_dtypes": ("Float",), **(odd if rank == 2 else {})}
        )
        frames = (Frame("main", "/job/train.py", 7), Frame("all_reduce", C10D, 9))
        task = KernelThread(ref.pid, "python", "S", "futex_wait_queue", voluntary=9, involuntary=1, still_s=300.0)
        items += [
            Item(ref, PythonStacks((PythonThread(ref.pid, Stack(frames), "MainThread"),), "memory")),
            Item(ref, Threads((task,))),
            Item(ref, Recorder((*made.entries[:-1], last), groups=WORLD, source="memory", read_at_ns=400 * SECOND)),
        ]
    processes = tuple(Process(ref, Role.RANK, rank=rank, world_size=4) for rank, ref in refs.items())
    sweep = Sweep(0, 0.0, tuple(refs.values()), tuple(items))
    return pipeline.judge(Snapshot(Job("torchrun", world_size=4, expected="0-3"), (), processes, (sweep,)))


@pytest.mark.parametrize("odd", [{"input_sizes": ((9,),), "output_sizes": ((9,),)}, {"input_dtypes": ("Double",)}])
def test_a_rank_that_died_beside_a_call_of_other_sizes_is_a_victim(odd):
    said = judged(odd)
    assert (said.verdict.cls, list(said.verdict.ranks)) == ("collective-mismatch", [2])
    assert [one.kind.value for one in said.findings if one.cls == "dead-rank"] == ["symptom"]


def test_a_rank_that_is_gone_where_all_calls_fit_is_to_blame():
    said = judged({})
    assert (said.verdict.cls, list(said.verdict.ranks)) == ("dead-rank", [1])
