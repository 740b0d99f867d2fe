"""Directories of dumps, from the files to the verdict: each kind of fault gets its class and its ranks."""

from __future__ import annotations

import gzip
import json
import tarfile
from dataclasses import replace

import pytest

from rankscope import pipeline
from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty, Kind
from rankscope.model.process import Role
from rankscope.model.snapshot import Snapshot

from .sim import Do, Job, as_json, flat, mesh, pickled, training


def write(folder, job: Job, name="nccl_trace_rank_{}", encode=pickled) -> None:
    folder.mkdir(exist_ok=True, parents=True)
    for rank, dump in job.run().dumps().items():
        (folder / name.format(rank)).write_bytes(encode(dump))


def diagnosis(folder):
    return pipeline.judge(gather([folder]))


def stalled(world: int = 4) -> Job:
    return Job(*flat(world, 20), stops={2: 10})


@pytest.mark.parametrize(("name", "encode"), [
    ("nccl_trace_rank_{}", pickled), ("dump_{}.json", as_json), ("{}.pkl", pickled), ("TP{}", pickled),
    ("rank{}.pickle.gz", lambda dump: gzip.compress(pickled(dump))), ("run1/rank_{}/comm_lib_trace", pickled),
])  # fmt: skip
def test_dumps_of_any_name_and_packing_are_one_job(tmp_path, name, encode):
    for rank in range(4):
        (tmp_path / name.format(rank)).parent.mkdir(parents=True, exist_ok=True)
    write(tmp_path, stalled(), name, encode)
    found = diagnosis(tmp_path)
    assert found.verdict is not None
    assert (found.verdict.cls, list(found.verdict.ranks)) == ("collective-missed-by-rank", [2])
    assert (found.verdict.certainty, found.world_size) == (Certainty.LIKELY, 4)
    assert "all_reduce #11" in found.verdict.title or "#11" in found.verdict.title
    assert found.collectives[0].seq == 11


def mismatch() -> Job:
    groups, programs = flat(4, 20)
    programs[1][14] = replace(programs[1][14], sizes=(9,), out=(9,))
    return Job(groups, programs)


def cycle() -> Job:
    groups = mesh(2, 2)
    programs = [training(groups, rank, 3) for rank in range(4)]
    at = next(number for number, do in enumerate(programs[0]) if groups[do.group][0] == "dp")
    for rank in (1, 2):
        programs[rank][at], programs[rank][at - 1] = programs[rank][at - 1], programs[rank][at]
    return Job(groups, programs)


def messages() -> Job:
    groups = {"0": ("default_pg", (0, 1, 2)), "1": ("pp", (0, 1, 2))}
    programs = [[Do("0")] + [Do("1", "send", peer=1)] * 3, [Do("0")] + [Do("1", "recv", peer=0)] * 3, [Do("0")]]
    return Job(groups, programs, stops={1: 2})


def silent() -> Job:
    return Job(*flat(4, 20), stops={3: 9}, no_dump={3})


def in_flight() -> Job:
    return Job(*flat(4, 20), broken={("0", 9)})


CASES = [
    (stalled, "collective-missed-by-rank", [2]), (mismatch, "collective-mismatch", [1]), (cycle, "collective-cycle", []),
    (messages, "p2p-order-deadlock", [1]), (silent, "dead-rank", [3]), (in_flight, "stuck-below-program", []),
]  # fmt: skip


@pytest.mark.parametrize(("made", "cls", "ranks"), CASES, ids=[cls for _, cls, _ in CASES])
def test_each_fault_has_its_class(tmp_path, made, cls, ranks):
    write(tmp_path, made())
    found = diagnosis(tmp_path)
    assert found.verdict is not None
    verdict = sorted(found.verdict.ranks) if cls != "collective-cycle" else []
    assert (found.verdict.cls, verdict, found.verdict.certainty) == (cls, ranks, Certainty.LIKELY)
    cause = next(finding for finding in found.findings if finding.kind is Kind.CAUSE)
    assert cause.collective == found.collectives[0]
    assert cause.because
    assert found.state.value == "unknown"


def test_a_healthy_job_has_no_verdict(tmp_path):
    write(tmp_path, Job(*flat(4, 20)))
    found = diagnosis(tmp_path)
    assert (found.verdict, found.findings, found.collectives) == (None, (), ())


def test_two_folders_are_two_moments(tmp_path):
    write(tmp_path / "1", Job(*flat(4, 30), stops={0: 11, 1: 11, 2: 11, 3: 8}, ahead=1))
    write(tmp_path / "2", Job(*flat(4, 30), stops={0: 20, 1: 15, 2: 20, 3: 20}, ahead=1))
    assert diagnosis(tmp_path).verdict is None


def test_a_rank_that_is_late_twice_is_a_note(tmp_path):
    write(tmp_path / "1", Job(*flat(4, 30), stops={0: 11, 1: 11, 2: 11, 3: 8}, ahead=1))
    write(tmp_path / "2", Job(*flat(4, 30), stops={0: 20, 1: 20, 2: 20, 3: 15}, ahead=1))
    (note,) = diagnosis(tmp_path).findings
    assert (note.cls, note.kind, list(note.ranks)) == ("straggler-slow-rank", Kind.NOTE, [3])


def test_broken_files_are_gaps_and_the_rest_is_judged(tmp_path):
    write(tmp_path, stalled())
    (tmp_path / "nccl_trace_rank_0").write_bytes(b"\x80\x02}q\x00(X\x07\x00\x00\x00entriesq\x01]q\x02")
    found = diagnosis(tmp_path)
    assert found.verdict is not None
    assert list(found.verdict.ranks) == [2]
    assert any("rank_0" in gap.detail or "rank_0" in gap.what for gap in found.gaps)


def test_a_young_wait_of_a_running_job_is_no_finding(tmp_path):
    """A job with twenty-second steps is healthy: only an old wait of a live job is a cause, and then it is certain."""
    write(tmp_path, stalled())
    taken = gather([tmp_path])
    for age_s, verdicts in ((5, []), (300, [("collective-missed-by-rank", Certainty.CERTAIN)])):
        found = pipeline.judge(live(taken, age_s))
        causes = [(one.cls, one.certainty) for one in found.findings if one.rule == "recorder-missed"]
        assert causes == verdicts


def test_one_old_leg_makes_the_whole_circle_a_cause(tmp_path):
    """No leg of it ends without the others; ranks that came into their calls a moment ago belong to it as well."""
    write(tmp_path, cycle())
    young = live(gather([tmp_path]), 5)
    assert pipeline.judge(young).verdict is None
    first = next(process for process in young.processes if process.rank == 0)
    items = tuple(replace(item, record=replace(item.record, read_at_ns=item.record.read_at_ns + int(300e9)))
                  if item.process == first.ref else item for item in young.sweeps[0].items)  # fmt: skip
    found = pipeline.judge(replace(young, sweeps=(replace(young.sweeps[0], items=items),)))
    assert found.verdict is not None
    assert "ranks 0-3 wait for each other in 4 calls" in found.verdict.title


def live(taken: Snapshot, age_s: float) -> Snapshot:
    """The same evidence as a running job would give it, read so long after the last call."""
    newest = max(entry.created_ns for item in taken.sweeps[0].items for entry in getattr(item.record, "entries", ()))
    items = tuple(replace(item, record=replace(item.record, read_at_ns=newest + int(age_s * 1e9), source="memory"))
                  for item in taken.sweeps[0].items)  # fmt: skip
    present = tuple(process.ref for process in taken.processes if process.role is Role.RANK)
    return replace(taken, live=True, sweeps=(replace(taken.sweeps[0], items=items, present=present),))


def test_the_json_of_a_collective_has_its_fields(tmp_path):
    from rankscope.report import json_lines

    write(tmp_path, stalled())
    line = json.loads(json_lines.render(diagnosis(tmp_path)))
    assert line["collectives"][0] == line["findings"][0]["collective"]
    assert {"group", "desc", "ranks", "op", "seq", "kind", "arrived_folded", "missing_folded", "culprits"} <= set(
        line["collectives"][0]
    )


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "tgz"])
def test_an_archive_is_a_directory(tmp_path, ending):
    write(tmp_path / "dumps", stalled())
    with tarfile.open(tmp_path / f"evidence.{ending}", "w" if ending == "tar" else "w:gz") as archive:
        archive.add(tmp_path / "dumps", "dumps")
    found = pipeline.judge(gather([tmp_path / f"evidence.{ending}"]))
    assert found.verdict is not None
    assert list(found.verdict.ranks) == [2]


def test_a_broken_archive_is_a_gap(tmp_path):
    (tmp_path / "x.tar").write_bytes(b"\0\1\2" * 999)
    found = pipeline.judge(gather([tmp_path / "x.tar"]))
    assert found.verdict is None
    assert found.gaps


@pytest.mark.parametrize(("ahead", "steps"), [(1, 5), (3, 5), (1, 2)])
def test_a_rank_that_left_the_common_path_is_named_and_its_own_habit_decides(tmp_path, ahead, steps):
    """GIVEN two groups of the same ranks, used in turn, and rank 2, which leaves out a call of the first group,
    THEN it is named; that it made both calls in the usual order before settles that it left one out."""
    groups = {"0": ("default_pg", (0, 1, 2, 3)), "1": ("logs", (0, 1, 2, 3))}
    programs = [[Do(group, sizes=(step + 1,)) for step in range(steps) for group in ("0", "1")] for _ in range(4)]
    del programs[2][2 * steps - 2]
    write(tmp_path, Job(groups, programs, ahead=ahead))
    found = next(one for one in diagnosis(tmp_path).findings if one.rule == "recorder-cycle")
    assert (found.cls, list(found.ranks)) == ("collective-missed-by-rank", [2])
    assert (found.against == ()) is (steps > 2)
