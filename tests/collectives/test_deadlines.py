"""How long until the watchdogs of waiting ranks give up, each by the clock of its own host."""

from __future__ import annotations

import json
from dataclasses import replace

from rankscope import pipeline
from rankscope.analysis.collectives import find
from rankscope.model.evidence.recorder import GroupConfig, Recorder, RecorderEntry
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.ranks import RankSet
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.report import json_lines, screen

SECOND = 10**9
WORLD = (GroupConfig("0", "default_pg", (0, 1, 2)),)


def recorder(issued_s: float, read_s: float, timeout_s: float, first: int = 1, count: int = 2) -> Recorder:
    """All-reduces of the default group, of which the last is not over."""
    entries = tuple(
        RecorderEntry(n, "0", "default_pg", first + n, "all_reduce", done=n < count - 1, input_sizes=((4,),),
                      output_sizes=((4,),), created_ns=int(issued_s * SECOND), timeout_ms=int(timeout_s * 1000))
        for n in range(count)
    )  # fmt: skip
    return Recorder(entries, groups=WORLD, source="memory", read_at_ns=int(read_s * SECOND))


def absent(read_s: float) -> Recorder:
    ended = replace(recorder(0, read_s, 0, count=1).entries[0], done=True)
    return Recorder((ended,), groups=WORLD, read_at_ns=int(read_s * SECOND))


def test_each_rank_is_told_by_its_own_clock():
    """GIVEN hosts whose clocks are hours apart, THEN neither ages nor deadlines are."""
    found = find({0: recorder(100, 160, 600), 1: recorder(9100, 9170, 1800), 2: absent(50)}, 3)
    assert found.deadlines == {0: 540.0, 1: 1730.0}
    assert (found.ages[0], found.ages[1]) == (60.0, 70.0)
    assert found.states[0].deadline_s == 540.0


def test_what_is_not_known_is_left_out():
    """Time-outs of nought are none; a dump without its moment tells no age."""
    found = find({0: recorder(100, 160, 0), 1: recorder(100, 0, 600), 2: absent(0)}, 3)
    assert 0 not in found.deadlines
    dumped = find({0: recorder(100, 0, 600), 1: recorder(100, 0, 600), 2: absent(0)}, 3)
    assert dumped.deadlines == {}
    assert dumped.states[0].deadline_s is None


def judged(*recorders: Recorder) -> object:
    refs = tuple(ProcessRef("here", 100 + rank, 1) for rank in range(len(recorders)))
    items = tuple(Item(ref, one) for ref, one in zip(refs, recorders, strict=True))
    processes = tuple(Process(ref, Role.RANK, rank=rank, world_size=3) for rank, ref in enumerate(refs))
    return pipeline.judge(Snapshot(Job("torchrun"), (), processes, (Sweep(0, 0.0, refs, items),)))


def test_the_answer_says_how_much_time_is_left():
    diagnosis = judged(recorder(100, 160, 600), recorder(100, 160, 1800), absent(160))
    assert diagnosis.deadlines == ((540.0, RankSet([0])), (1740.0, RankSet([1])))
    assert "9 min 0 s until the calls of rank 0 time out, 29 min 0 s of rank 1" in screen.render(diagnosis, width=120)
    told = json.loads(json_lines.render(diagnosis))["deadlines"]
    assert told == [{"ranks": [0], "ranks_folded": "0", "deadline_s": 540.0},
                    {"ranks": [1], "ranks_folded": "1", "deadline_s": 1740.0}]  # fmt: skip


def test_a_deadline_that_has_passed_is_no_time_left():
    diagnosis = judged(recorder(100, 900, 600), recorder(100, 900, 600), absent(900))
    assert diagnosis.deadlines == ((-200.0, RankSet([0, 1])),)
    assert " left " not in screen.render(diagnosis)
