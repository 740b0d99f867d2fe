"""A snapshot of living processes stays one, whatever lies beside it: logs add to its verdict, parts of one job are joined."""

from __future__ import annotations

import dataclasses
import pathlib

import pytest
from test_live_rules import LIB, MAIN, REDUCE, STEP, WORKS, Body, job, ranks

from rankscope.formats.gather import gather
from rankscope.model import wire
from rankscope.model.diagnosis import Diagnosis, Kind
from rankscope.model.evidence.stacks import Frame, Stack
from rankscope.model.process import ProcessRef
from rankscope.model.snapshot import Host, Item, Snapshot
from rankscope.pipeline import judge

REDUCES = Stack([MAIN, STEP, REDUCE])
FETCHES = Stack([Frame("<module>", "/job/train.py", 99), MAIN, Frame("readinto", f"{LIB}/socket.py", 700)])
LOG = "step 1 loss 3.0\nstep 2 loss 2.5\nstep 3 loss 2.4\n"


def gone() -> Snapshot:
    found = job(Body(70, REDUCES, rank=0), Body(71, REDUCES, rank=1), world=3)
    return dataclasses.replace(found, job=dataclasses.replace(found.job, expected="0-2"))


SICK = {
    "gone": gone(),
    "stopped": job(*ranks(Body(72, WORKS, rank=2, state="T")), world=3),
    "reads": job(*ranks(Body(72, FETCHES, rank=2, wchan="wait_woken")), world=3),
}


def save(folder: pathlib.Path, name: str, snapshot: Snapshot) -> pathlib.Path:
    path = folder / f"{name}.snap"
    with open(path, "w", encoding="utf-8") as out:
        wire.write(snapshot, "rankscope 0", out.write)
    return path


def on(host: str, snapshot: Snapshot, later_s: float = 0.0) -> Snapshot:
    """The same job seen on another host, or later."""

    def of(ref: ProcessRef) -> ProcessRef:
        return dataclasses.replace(ref, host=host)

    sweeps = tuple(
        dataclasses.replace(
            sweep, at_s=sweep.at_s + later_s, present=tuple(map(of, sweep.present)),
            items=tuple(Item(of(item.process) if item.process else None, item.record) for item in sweep.items),
        )
        for sweep in snapshot.sweeps
    )  # fmt: skip
    processes = tuple(dataclasses.replace(one, ref=of(one.ref)) for one in snapshot.processes)
    return dataclasses.replace(snapshot, hosts=(Host(host),), processes=processes, sweeps=sweeps)


def met(snapshot: Snapshot, *words: str) -> Snapshot:
    """The same with a meeting point."""
    return dataclasses.replace(snapshot, job=dataclasses.replace(snapshot.job, meeting=words))


def causes(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    return [(one.rule, one.certainty.value) for one in diagnosis.findings if one.kind is Kind.CAUSE]


@pytest.mark.parametrize("name", SICK)
def test_an_ordinary_log_beside_a_snapshot_changes_nothing(name: str, tmp_path: pathlib.Path) -> None:
    snap = save(tmp_path, name, SICK[name])
    (tmp_path / "train.log").write_text(LOG)
    alone, both = judge(gather([snap])), judge(gather([snap, tmp_path / "train.log"]))
    assert alone.verdict is not None
    assert both == alone


def test_what_a_log_adds_comes_behind_what_was_seen(tmp_path: pathlib.Path) -> None:
    snap = save(tmp_path, "reads", SICK["reads"])
    (tmp_path / "train.log").write_text("could not write cache: [Errno 28] No space left on device: '/tmp/hf'\n")
    alone, both = judge(gather([snap])), judge(gather([tmp_path]))
    assert both.verdict == alone.verdict
    assert causes(both) == [*causes(alone), ("disk-full", "possible")]


def test_a_file_of_a_rank_that_is_gone_does_not_bring_it_back(tmp_path: pathlib.Path) -> None:
    """It was written while the rank lived."""
    snap = save(tmp_path, "gone", SICK["gone"])
    (tmp_path / "rank_2.txt").write_text('Thread 0x7F0 (idle): "MainThread"\n    step (train.py:5)\n')
    both = judge(gather([tmp_path]))
    assert both.verdict == judge(gather([snap])).verdict
    assert [gap.what for gap in both.gaps] == ["rank 2"]


def test_stacks_of_a_rank_elsewhere_are_taken_beside_a_snapshot(tmp_path: pathlib.Path) -> None:
    """Ranks 0-1 run on the host that was looked at, and rank 2 on another one."""
    snapshot = job(Body(70, REDUCES, rank=0), Body(71, REDUCES, rank=1), world=3)
    save(tmp_path, "job", dataclasses.replace(snapshot, job=dataclasses.replace(snapshot.job, expected="0-1")))
    (tmp_path / "rank_2.txt").write_text('Thread 0x7F0 (idle): "MainThread"\n    step (train.py:5)\n')
    found = gather([tmp_path])
    assert found.live
    assert sorted(process.rank or 0 for process in found.processes) == [0, 1, 2]
    assert not found.gaps


@pytest.mark.parametrize("words", [(), ("master:n1:29500",)], ids=["no meeting point", "one meeting point"])
def test_snapshots_of_two_hosts_are_one_job(words: tuple[str, ...], tmp_path: pathlib.Path) -> None:
    here = met(job(*ranks(Body(72, FETCHES, rank=2, wchan="wait_woken")), world=6), *words)
    there = met(on("n2", job(*(Body(70 + rank, REDUCES, rank=rank) for rank in (3, 4, 5)), world=6)), *words)
    save(tmp_path, "a", here), save(tmp_path, "b", there)
    found = judge(gather([tmp_path]))
    assert (found.world_size, str(found.ranks), found.hosts) == (6, "0-5", ("n1", "n2"))
    assert found.job.launcher == "torchrun"
    assert found.verdict == judge(here).verdict


def test_of_two_looks_at_one_host_the_later_one_is_judged(tmp_path: pathlib.Path) -> None:
    """What moved between them says nothing of how the job stands at last."""
    save(tmp_path, "a", SICK["stopped"])
    save(tmp_path, "b", on("n1", SICK["reads"], later_s=600.0))
    found = judge(gather([tmp_path]))
    assert found.verdict == judge(SICK["reads"]).verdict
    assert [gap.what for gap in found.gaps] == ["a.snap"]


def test_the_same_snapshot_twice_is_one(tmp_path: pathlib.Path) -> None:
    save(tmp_path, "a", SICK["reads"])
    save(tmp_path, "copy", SICK["reads"])
    assert judge(gather([tmp_path])).verdict == judge(SICK["reads"]).verdict


def test_two_runs_that_use_one_meeting_point_are_not_made_one(tmp_path: pathlib.Path) -> None:
    save(tmp_path, "a", met(SICK["stopped"], "master:n1:29500"))
    save(tmp_path, "b", met(on("n2", SICK["reads"]), "master:n1:29500"))
    assert not gather([tmp_path]).live
