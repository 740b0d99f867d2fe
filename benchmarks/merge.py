"""Merging and judging the stacks of very many ranks: time on one core, and peak memory.

    python benchmarks/merge.py [RANKS]

All ranks but one wait in an all_reduce at one of sixteen call paths; one sleeps in the job's own code. The snapshot is made
up; what is timed is what a login node does with the answers of all hosts: the merged tree, the case, and the verdict.
"""

from __future__ import annotations

import argparse
import resource
import time

from rankscope import pipeline
from rankscope.analysis import tree
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack, Trust
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Host, Item, Job, Snapshot, Sweep

PER_HOST = 8
DEPTH = 24
ODD = 31_337
ALL_REDUCE = Frame("all_reduce", "/site-packages/torch/distributed/distributed_c10d.py", 3252)


def path(number: int) -> Stack:
    """One of sixteen call paths into the collective."""
    own = tuple(Frame(f"level{depth}", "/job/train.py", 10 + depth) for depth in range(DEPTH))
    return Stack((*own, Frame("layer", "/job/model.py", number), ALL_REDUCE))


def snapshot(ranks: int) -> Snapshot:
    """The job as all hosts reported it; equal stacks are one object, as the wire delivers them."""
    stacks = [
        PythonStacks((PythonThread(7, path(number), "MainThread", Trust.EXACT),), "memory") for number in range(16)
    ]
    asleep = PythonStacks(
        (PythonThread(7, Stack(stacks[0].threads[0].stack[:DEPTH]), "MainThread", Trust.EXACT),), "memory"
    )
    waits = Threads(
        (KernelThread(7, "python", "S", "futex_do_wait", cpu_s=1.0, voluntary=9, involuntary=1, still_s=300.0),)
    )
    sleeps = Threads((KernelThread(7, "python", "S", "hrtimer_nanosleep", voluntary=9, involuntary=1, still_s=300.0),))
    refs = [ProcessRef(f"node{rank // PER_HOST}", 100 + rank % PER_HOST, 1) for rank in range(ranks)]
    processes = tuple(Process(ref, Role.RANK, rank=rank, world_size=ranks) for rank, ref in enumerate(refs))
    odd = ODD % ranks
    items = []
    for rank, ref in enumerate(refs):
        items.append(Item(ref, sleeps if rank == odd else waits))
        items.append(Item(ref, asleep if rank == odd else stacks[rank % 16]))
    sweeps = tuple(Sweep(number, float(number), tuple(refs), tuple(items)) for number in range(2))
    hosts = tuple(Host(f"node{number}") for number in range(ranks // PER_HOST))
    return Snapshot(Job("torchrun", world_size=ranks, name="train.py"), hosts, processes, sweeps)


def main() -> None:
    """Time the three steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ranks", nargs="?", type=int, default=131_072, help="(%(default)s)")
    ranks = parser.parse_args().ranks
    made = snapshot(ranks)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    merged = tree.build(
        (rank, item.record.threads[0].stack)
        for rank, item in enumerate(i for i in made.sweeps[-1].items if isinstance(i.record, PythonStacks))
    )
    at_tree = time.process_time()
    verdict = pipeline.judge(made).verdict
    at_end = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if verdict is None or tuple(verdict.ranks) != (ODD % ranks,):
        raise SystemExit(f"wrong verdict: {verdict}")
    distinct = sum(1 for _ in tree.groups(merged))
    print(
        f"{ranks} ranks: tree of {distinct} stacks {at_tree - began:.2f} s, case and verdict {at_end - at_tree:.2f} s CPU"
    )
    print(f"the snapshot took {before >> 10} MiB, judging it {peak >> 10} MiB in all")


if __name__ == "__main__":
    main()
