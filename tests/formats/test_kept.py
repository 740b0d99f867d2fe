"""Of a long log rules see what a person would look at: its head, its tail, and a few of each kind of line in between."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.formats.gather import gather
from rankscope.formats.kept import HEAD_BYTES, TAIL_BYTES, Between, Ends, joined
from rankscope.formats.reading import SMALL_BYTES
from rankscope.model.evidence.events import Events
from rankscope.pipeline import judge

READS = "2026-02-11 03:{:02d}:{:02d},123 INFO data.reader: read shard {:06d}.tar, 1024 samples in 3 parts\n"
CHATTER = "".join(READS.format(number // 60 % 60, number % 60, number) for number in range(2 * SMALL_BYTES // 70))
STEPS = "".join(f"step {number} loss 2.{number:06d} grad_norm 0.3\n" for number in range(SMALL_BYTES // 30))
# What no reader knows, only rules; and what a reader knows.
TROUBLES = {
    "storage-full": "RuntimeError: PytorchStreamWriter failed writing file data/12: file write failed\n",
    "oom-kill": "slurmstepd: error: Detected 1 oom_kill event in StepId=42.0. Some of the step tasks have been OOM Killed.\n",
    "collective-missed-by-rank": "".join(
        f"[rank{rank}]: torch.distributed.DistBackendError: [Rank {rank}] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=42, OpType=ALLREDUCE, NumelIn=9, NumelOut=9, Timeout(ms)=600000) ran for 600010 milliseconds before "
        "timing out.\n"
        for rank in range(8)
        if rank != 5
    ),
}


def verdict(folder: Path, text: str) -> str | None:
    """What is said of a log."""
    (folder / "train.log").write_text(text)
    found = judge(gather([folder])).verdict
    return found.cls if found else None


@pytest.mark.parametrize("before", ["", CHATTER, STEPS], ids=["alone", "behind chatter", "behind steps"])
@pytest.mark.parametrize("cls", TROUBLES)
def test_a_trouble_is_seen_however_long_the_log(cls: str, before: str, tmp_path: Path) -> None:
    """The same verdict, whatever was written before."""
    assert verdict(tmp_path, before + TROUBLES[cls]) == cls


def test_a_long_log_of_steps_has_no_cause(tmp_path: Path) -> None:
    """It gets on to its last line."""
    assert verdict(tmp_path, CHATTER + STEPS) is None


def test_what_readers_know_in_the_middle_is_kept_a_few_times(tmp_path: Path) -> None:
    """A message that comes again and again fills no memory."""
    text = (
        CHATTER
        + "".join(f"NCCL WARN Call to connect returned Connection refused, retry {n}\n" for n in range(99))
        + CHATTER
    )
    (tmp_path / "train.log").write_text(text)
    records = [item.record for sweep in gather([tmp_path]).sweeps for item in sweep.items]
    events = [event for one in records if isinstance(one, Events) for event in one.events]
    assert sum(event.event == "text.line" and "NCCL WARN" in event.text for event in events) == 3


@given(st.lists(st.text(alphabet="ab\n", max_size=40)), st.integers(1, 7))
def test_ends_of_a_short_stream_are_all_of_it(texts: list[str], size: int) -> None:
    """However it comes in pieces, every line is there once, with its number."""
    whole = "".join(texts).encode()
    ends = Ends()
    for at in range(0, len(whole), size):
        ends.see(whole[at : at + size])
    assert list(ends.lines()) == list(enumerate(whole.decode().split("\n"), 1))


@settings(max_examples=20, deadline=None)
@given(st.integers(997, 700_000))
def test_ends_of_a_long_stream(size: int) -> None:
    """Head and tail have their own numbers, and no line is cut."""
    lines = [f"line {number} of many" for number in range(1, 40_001)]
    whole = "\n".join(lines).encode()
    assert len(whole) > HEAD_BYTES + TAIL_BYTES
    ends = Ends()
    for at in range(0, len(whole), size):
        ends.see(whole[at : at + size])
    found = list(ends.lines())
    assert all(text == f"line {number} of many" for number, text in found)
    assert (found[0][0], found[-1][0]) == (1, 40_000)


def test_between_keeps_few_of_a_kind_and_joins_by_number() -> None:
    """Numbers make no kind of their own."""
    between, ends = Between(), Ends()
    ends.see(b"first\nsecond\n")
    for number in range(2, 90):
        between.see(number, f"retry {number}")
    between.see(100, "another")
    assert joined(ends, between) == [(1, "first"), (2, "second"), (3, ""), (4, "retry 4"), (100, "another")]
