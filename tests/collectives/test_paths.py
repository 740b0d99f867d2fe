"""Where the ranks parted: the last common call, each side's path, and their source beside them."""

from __future__ import annotations

from rankscope.analysis.build import build
from rankscope.analysis.collectives.paths import diverge
from rankscope.model.diagnosis import CallPath, Divergence
from rankscope.model.evidence.recorder import GroupConfig, Recorder, RecorderEntry
from rankscope.model.evidence.source import Place
from rankscope.model.evidence.stacks import Frame
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.ranks import RankSet
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.report import paths

WORLD = GroupConfig("0", "dp", (0, 1, 2))
MAIN = Frame("main", "/job/train.py", 40)


def entry(seq: int, op: str, line: int, done: bool = False) -> RecorderEntry:
    inner = Frame("all_reduce", "/usr/lib/python3/site-packages/torch/distributed/distributed_c10d.py", 99)
    frames = (inner, Frame("step", "/job/train.py", line), MAIN)
    return RecorderEntry(seq, "0", "dp", seq, op, done=done, created_ns=seq * 10**9, frames=frames, input_sizes=((4,),))


def snapshot(*rings: tuple[RecorderEntry, ...]) -> Snapshot:
    refs = [ProcessRef("here", 100 + rank, 1) for rank in range(len(rings))]
    processes = tuple(Process(ref, Role.RANK, rank=rank) for rank, ref in enumerate(refs))
    items = tuple(
        Item(ref, Recorder(ring, groups=(WORLD,), read_at_ns=10**12)) for ref, ring in zip(refs, rings, strict=True)
    )
    return Snapshot(Job("files", world_size=3), (), processes, (Sweep(0, 0.0, tuple(refs), items),), live=False)


USUAL = (entry(0, "all_reduce", 7, done=True), entry(1, "all_reduce", 8))
ODD = (entry(0, "all_reduce", 7, done=True), entry(1, "broadcast", 21))


def test_two_sides_of_a_mismatch_are_shown_from_their_last_common_call_on():
    case = build(snapshot(USUAL, ODD, USUAL))
    parted = diverge(case, RankSet([1]))
    assert parted is not None
    assert (parted.common.what, parted.common.frames[-1].line) == ("all_reduce #0 of dp", 7)
    assert [(str(side.ranks), side.what, [frame.line for frame in side.frames]) for side in parted.sides] == [
        ("0", "all_reduce #1 of dp", [40, 8]), ("1", "broadcast #1 of dp", [40, 21]),
    ]  # fmt: skip


def test_a_job_whose_cause_lies_elsewhere_shows_no_paths():
    """Only ranks that a cause names have left anybody's path."""
    assert diverge(build(snapshot(USUAL, ODD, USUAL)), RankSet([2])) is None
    assert diverge(build(snapshot(USUAL[:1], USUAL[:1], USUAL[:1])), RankSet([0, 1, 2])) is None


def test_a_line_stands_beside_its_frame_where_its_source_is_known():
    ref = ProcessRef("here", 100, 1)
    side = CallPath(RankSet([0]), "all_reduce #1 of dp", (MAIN, Frame("step", "/job/train.py", 8)), ref)
    shown = list(
        paths.render(Divergence((side,)), {Place(ref, "/job/train.py", 8): "    dist.all_reduce(\x1b[31mx)"}, 60)
    )
    assert shown == [
        "rank 0 then: all_reduce #1 of dp",
        "  train.py:40 main",
        "  train.py:8 step   dist.all_reduce(x)",
    ]
    assert all(len(line) <= 24 for line in paths.render(Divergence((side,)), {}, 24))
