"""A number before a line is the task that wrote it where the text as a whole shows so, and else part of what was said."""

from __future__ import annotations

import json
import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.formats.gather import gather
from rankscope.formats.live_log import with_events
from rankscope.formats.margin import margin_of
from rankscope.formats.reading import SMALL_BYTES
from rankscope.formats.task_labels import depth
from rankscope.model.evidence.events import Events
from rankscope.model.evidence.log import Logs, LogTail
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import judge

ERROR = "Traceback (most recent call last):", '  File "train.py", line 3, in main', "ValueError: shard 7 is empty"
LABELLED = {
    "tasks that write in turns": [f"{rank}: step {step}" for step in range(3) for rank in range(8)],
    "two tasks, a few lines": ["1: start", "0: start", "0: step 1"],
    "one task": ["0: start", "0: step 1"],
    "the error of one task": [f"137: {line}" for line in ERROR],
    "one task after the other": [f"{rank}: {line}" for rank in (0, 1) for line in ERROR],
    "tasks of which a few said something": [
        "17: start",
        "17: step 1",
        "19: start",
        "19: step 1",
        "512: start",
        "512: step 1",
    ],
    "numbers of one width": [f"{rank:02}: step {step}" for step in range(3) for rank in range(12)],
    "what a batch script says around": [
        "module load cuda",
        "start",
        *[f"0: {line}" for line in ERROR],
        "srun: error: n1",
    ],
    "what others write between": ["2: a", "2: b", "slurmstepd: error: n1", "", "0: a", "1: c", "1: d", "1: e"],
    "empty lines of a task": ["3: a", "3: ", "3: b"],
    "time stamps of a collector": [f"2026-02-11T04:10:27.5Z stdout F 4: {line}" for line in ERROR],
    "tasks of MPICH": [f"[{rank}] step {step}" for step in range(3) for rank in range(8)],
    "a step that starts steps": [f"1: {rank}: {line}" for rank in (1848, 2184) for line in ERROR],
}
SAID = {
    "epochs": [f"[{epoch}] batch {batch}" for epoch in range(5) for batch in range(9)],
    "footnotes": ["[1] a paper", "[2] a page", "see [1]", "[1] again"],
    "an answer": ["GET /shards/7", "404: Not Found", "again in 5 s"],
    "one answer again and again": ["404: Not Found"] * 5,
    "answers apart": ["GET /a", "404: Not Found", "GET /b", "404: No such shard", "GET /c", "500: Internal error"],
    "years": ["2023: the first run", "2024: the second run", "it hangs"],
    "steps of a trainer": [f"{step}: loss {1 / (step + 1):.3f}" for step in range(50)],
    "steps with two lines each": [f"{step}: {what}" for step in range(0, 500, 10) for what in ("loss 2.5", "saving")],
    "a list": ["1: all ranks start", "2: rank 3 loads", "3: the others wait"],
    "lists": ["1: stop", "2: start", "and then", "1: look", "2: wait", "3: stop"],
    "frames": ["0: ray::g() | test.py:15", "1: ray::f() | test.py:9"],
    "lines of a source": ["238: submit(writes)", "239: submit(reads)", "252: get()", "270: put()"],
    "interfaces of two hosts": [f"{n}: {name}: <UP,LOWER_UP> mtu 1500" for _ in "ab" for n, name in ((1, "lo"), (2, "eth0"))],
    "locks": ["1: FLOCK  ADVISORY  WRITE 27 fe:00:27 0 EOF", "1: -> FLOCK  ADVISORY  WRITE 28 fe:00:27 0 EOF"],
    "ranks that lack tensors": ["Missing ranks:", "2: [head.weight]", "3: [head.bias]", "Missing ranks:", "2: [head.bias]"],
    "figures": ["8: 0.27", "4: 12.07", "2: 9.09"],
}  # fmt: skip


@pytest.mark.parametrize("kind", LABELLED)
def test_labels_of_tasks_tell_who_speaks(kind: str) -> None:
    """Every labelled line has its rank."""
    lines = LABELLED[kind]
    margin = margin_of("\n".join(lines))
    found = [line.rank for raw in lines for line in margin.lines(1, raw)]
    assert found == [_rank(raw) for raw in lines]


def _rank(raw: str) -> int | None:
    numbers = [part for part in raw.rpartition("F ")[2].split(": ")[:-1] if part.isdecimal()]
    return int(numbers[-1]) if numbers else None


@pytest.mark.parametrize("kind", SAID)
def test_other_numbers_stay_what_they_are(kind: str) -> None:
    """Nobody is taken for a rank, and nothing is taken off."""
    lines = SAID[kind]
    margin = margin_of("\n".join(lines))
    assert [(line.rank, line.text) for raw in lines for line in margin.lines(1, raw)] == [(None, raw) for raw in lines]


def test_a_number_behind_a_label_is_said_by_the_task() -> None:
    """Also where the text has labels."""
    lines = ["3: GET /shards/7", "1: step 4", "3: 404: Not Found", "1: step 5"]
    margin = margin_of("\n".join(lines))
    found = [(line.rank, line.text) for raw in lines for line in margin.lines(1, raw)]
    assert found == [(3, "GET /shards/7"), (1, "step 4"), (3, "404: Not Found"), (1, "step 5")]


@pytest.mark.parametrize("before", [0, SMALL_BYTES // 20, SMALL_BYTES // 4], ids=["small", "kept in part", "sieved"])
@pytest.mark.parametrize(("lines", "rank"), [([f"5: {line}" for line in ERROR], 5), (["404: Not Found", *ERROR], None)])
def test_the_rank_is_that_of_the_label_however_long_the_log(
    lines: list[str], rank: int | None, before: int, tmp_path: pathlib.Path
) -> None:
    """The first two megabytes decide."""
    step = "{}step 1" if rank is None else "5: {}step 1"
    (tmp_path / "log").write_text("\n".join([*lines, *[step.format("")] * before, *lines]) + "\n")
    events = [e for sweep in gather([tmp_path]).sweeps for item in sweep.items if isinstance(item.record, Events)
              for e in item.record.events]  # fmt: skip
    errors = [(event.rank, event.fields["type"]) for event in events if event.event == "python.exception"]
    assert errors == [(rank, "ValueError")] * 2


def test_labels_in_an_export_of_a_collector(tmp_path: pathlib.Path) -> None:
    """There every line is a field of JSON."""
    items = [{"timestamp": f"2026-02-11T04:10:{n:02}Z", "message": f"5: {line}"} for n, line in enumerate(ERROR)]
    (tmp_path / "export.json").write_text(json.dumps({"events": items}))
    events = [e for sweep in gather([tmp_path]).sweeps for item in sweep.items if isinstance(item.record, Events)
              for e in item.record.events]  # fmt: skip
    assert {event.rank for event in events if event.event == "text.line"} == {5}


def test_labels_in_the_log_of_a_living_job() -> None:
    """srun writes it; what it shows is who failed."""
    rank = ProcessRef("n1", 7, 70)
    tail = tuple(f"{task}: {line}" for task in (3, 5) for line in ERROR)
    sweep = Sweep(0, 1.0, (rank,), (Item(rank, Logs((LogTail("/job/out.log", 1, 9, 1.0, tail),))),))
    snapshot = with_events(Snapshot(Job("srun"), processes=(Process(rank, Role.LAUNCHER),), sweeps=(sweep,)))
    events = [
        event for item in snapshot.sweeps[0].items if isinstance(item.record, Events) for event in item.record.events
    ]
    assert [event.rank for event in events if event.event == "python.exception"] == [3, 5]


def test_who_lacks_a_tensor_is_named_though_it_says_nothing(tmp_path: pathlib.Path) -> None:
    """Horovod's list has the number of the rank that comes late."""
    late = "Missing ranks:\n2: [allreduce.head.weight]\nstep {} loss 1.9\n"
    (tmp_path / "log").write_text(late.format(41) + late.format(42))
    verdict = judge(gather([tmp_path])).verdict
    assert verdict is not None
    assert (verdict.cls, str(verdict.ranks)) == ("straggler-slow-rank", "2")


@given(st.lists(st.text(alphabet="0123: ab\n", max_size=12), max_size=30))
def test_any_lines_have_few_labels(lines: list[str]) -> None:
    assert 0 <= depth(lines) <= 2
