"""What was read in part is never called clean: what is wrong may stand in the rest."""

from __future__ import annotations

import gzip
import pathlib

import pytest

from rankscope.formats import reading
from rankscope.formats.gather import gather
from rankscope.model import wire
from rankscope.model.diagnosis import Diagnosis
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Host, Item, Job, Snapshot, Sweep
from rankscope.pipeline import judge

REF = ProcessRef("n1", 70, 1)


def snapshot(processes: tuple[Process, ...] = (Process(REF, Role.RANK, rank=0, comm="python"),)) -> list[bytes]:
    """The lines of a look at a rank that is at work."""
    sweeps = []
    for at in range(2):
        task = KernelThread(70, "python", "R", "", voluntary=3 + at, involuntary=at, still_s=0.0)
        seen = (Item(REF, Threads((task,), uptime_s=120.0 + at)),) if processes else ()
        sweeps.append(Sweep(at, float(at), tuple(process.ref for process in processes), seen))
    lines: list[str] = []
    wire.write(Snapshot(Job("torchrun"), (Host("n1"),), processes, tuple(sweeps)), "a test", lines.append)
    return [line.encode() for line in lines]


def judged(folder: pathlib.Path, lines: list[bytes]) -> Diagnosis:
    (folder / "job.snap").write_bytes(b"".join(lines))
    return judge(gather([folder]))


def test_a_whole_snapshot_of_who_is_at_work_is_enough(tmp_path: pathlib.Path) -> None:
    said = judged(tmp_path, snapshot())
    assert (said.verdict, said.evidence_weak, said.gaps) == (None, False, ())


@pytest.mark.parametrize("kept", range(1, len(snapshot())))
def test_a_snapshot_that_breaks_off_is_not(tmp_path: pathlib.Path, kept: int) -> None:
    """The disk was full, or the copy was broken off; wherever that was, it is told."""
    said = judged(tmp_path, snapshot()[:kept])
    assert (said.verdict, said.evidence_weak) == (None, True)
    assert [(gap.what, gap.why.value) for gap in said.gaps] == [("the snapshot", "damaged")]


def test_a_snapshot_with_a_damaged_line_is_not(tmp_path: pathlib.Path) -> None:
    lines = snapshot()
    said = judged(tmp_path, [lines[0], b'{"is":"process"\n', *lines[1:]])
    assert (said.verdict, said.evidence_weak) == (None, True)


def test_a_snapshot_of_nobody_is_not(tmp_path: pathlib.Path) -> None:
    """Whatever became of its processes."""
    said = judged(tmp_path, snapshot(processes=()))
    assert (said.verdict, said.evidence_weak) == (None, True)


THREAD = 'Thread {} (active): "MainThread"\n    step (train.py:{})\n    main (train.py:9)\n\n'
STACKS = "Process 41: python train.py\n\n" + "".join(THREAD.format(number, number) for number in range(41, 45))


def test_stacks_that_are_all_read_are_enough(tmp_path: pathlib.Path) -> None:
    (tmp_path / "stacks.txt").write_text(STACKS)
    said = judge(gather([tmp_path]))
    assert (said.verdict, said.evidence_weak, said.gaps) == (None, False, ())


def test_stacks_beyond_the_bound_are_missed(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that is stuck may be among them."""
    monkeypatch.setattr(reading, "DUMPS_PER_FILE", 3)
    (tmp_path / "stacks.txt").write_text(STACKS)
    said = judge(gather([tmp_path]))
    assert (said.verdict, said.evidence_weak) == (None, True)
    assert [(gap.why.value, gap.detail) for gap in said.gaps] == [("cut", "1 more stacks left out")]


def test_what_is_damaged_or_refused_is_missed(tmp_path: pathlib.Path) -> None:
    """And what is no evidence at all is not."""
    (tmp_path / "stacks.txt").write_text(STACKS)
    (tmp_path / "loss.png").write_bytes(b"\x89PNG\r\n" + bytes(range(256)) * 20)
    assert not judge(gather([tmp_path])).evidence_weak
    (tmp_path / "train.log.gz").write_bytes(gzip.compress(b"step 1\n" * 999)[:-12])
    assert judge(gather([tmp_path])).evidence_weak
