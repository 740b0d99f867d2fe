"""What people save of a hang beside its stacks, the process table above all, is joined with them."""

from __future__ import annotations

import pathlib
from dataclasses import replace

import pytest

from harness.known_cases import KnownCase, read
from rankscope.analysis import order
from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty, Diagnosis, Finding, Kind
from rankscope.model.process import Role
from rankscope.pipeline import judge

TEXTS = pathlib.Path(__file__).parent / "text"
QUEUE = "child-dead/worker-of-a-queue-left-in-ps"
RANKS = "dead-rank/one-of-the-ranks-left-in-ps"


def saved(name: str, *changes: tuple[str, str]) -> KnownCase:
    """A case, with other words in its items."""
    case = read(TEXTS / f"{name}.txt")
    for old, new in changes:
        assert any(old in text for _, text in case.items), old
        case = replace(case, items=tuple((label, text.replace(old, new)) for label, text in case.items))
    return case


def judged(case: KnownCase, folder: pathlib.Path) -> Diagnosis:
    folder.mkdir(exist_ok=True)
    case.lay_out(folder)
    return judge(gather([folder]))


def found(case: KnownCase, folder: pathlib.Path) -> dict[str, Finding]:
    return {one.rule: one for one in judged(case, folder).findings}


@pytest.mark.parametrize(("name", "rule"), [(QUEUE, "child-not-collected"), (RANKS, "rank-not-collected")])
def test_who_was_not_collected_is_named_with_who_waits(name: str, rule: str, tmp_path: pathlib.Path) -> None:
    one = found(saved(name), tmp_path)[rule]
    assert (one.kind, one.certainty, one.compared) == (Kind.CAUSE, Certainty.LIKELY, True)
    assert "<defunct>" in one.because[0].text


@pytest.mark.parametrize(("name", "rule"), [(QUEUE, "child-not-collected"), (RANKS, "rank-not-collected")])
@pytest.mark.parametrize("change", [("Z    -", "S    -"), ("(idle)", "(active)")], ids=["it lives", "somebody runs"])
def test_a_family_that_works_is_none(name: str, rule: str, change: tuple[str, str], tmp_path: pathlib.Path) -> None:
    assert rule not in found(saved(name, change), tmp_path)


def test_ranks_that_are_leaving_accuse_nobody_who_has_left(tmp_path: pathlib.Path) -> None:
    """What runs at exit does not stand on the program's first frame."""
    assert "rank-not-collected" not in found(saved(RANKS, ("<module> (train.py", "finish (train.py")), tmp_path)


def test_the_rank_that_has_ended_is_the_one_that_is_missing(tmp_path: pathlib.Path) -> None:
    """Where the others' ranks are known, and one is left out."""
    case = saved(RANKS)
    labels = {"pid 30621": "rank 0, pid 30621", "pid 30623": "rank 2, pid 30623"}
    case = replace(case, items=tuple((labels.get(label, label), text) for label, text in case.items))
    assert str(found(case, tmp_path)["rank-not-collected"].ranks) == "1"


def test_a_parent_in_code_of_its_own_may_collect_later(tmp_path: pathlib.Path) -> None:
    """Many programs do."""
    reads = [("Connection._recv (multiprocessing/connection.py:395)\n", ""), ("Queue.get (multiprocessing/queues.py:103)\n", ""),
             ("Connection._recv_bytes (multiprocessing/connection.py:430)\n", ""),
             ("_ConnectionBase.recv_bytes (multiprocessing/connection.py:216)\n", "")]  # fmt: skip
    one = found(saved(QUEUE, *reads), tmp_path)["child-not-collected"]
    assert (one.certainty, one.compared) == (Certainty.POSSIBLE, False)


def test_a_stopped_row_names_the_rank_whose_stack_was_saved(tmp_path: pathlib.Path) -> None:
    """The row tells the pid alone."""
    case = saved(QUEUE, ("26108 26106 S ", "26108 26106 T "))
    verdict = found(case, tmp_path)["stopped-from-outside"]
    assert str(verdict.ranks) == "1"
    assert "rank 1, pid 26108" in verdict.title


def test_state_d_in_a_sleep_is_no_storage(tmp_path: pathlib.Path) -> None:
    """A control group of the first version shows its frozen processes so."""
    assert "storage-silent" not in found(saved("process-stopped/state-d-in-a-sleep"), tmp_path)


def test_what_was_seen_stands_where_all_words_read_well(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stacks of a hang are those of a healthy run; a likely cause that words alone tell is a note there."""
    monkeypatch.setattr(order, "reads_well", lambda case: True)
    case = saved("filesystem-stall/state-d-without-a-stack")
    told = replace(case, items=tuple(item for item in case.items if item[0] == "ps"))
    verdicts = [judged(case, tmp_path / "seen").verdict, judged(told, tmp_path / "told").verdict]
    assert [one and one.cls for one in verdicts] == ["filesystem-stall", None]


def test_a_loaders_worker_is_no_rank_whatever_its_file_is_called(tmp_path: pathlib.Path) -> None:
    """It has its rank's environment, by which people name the file."""
    saved("fork-with-threads/loader-in-a-lock-of-threading").lay_out(tmp_path)
    roles = {one.ref.pid: one.role for one in gather([tmp_path]).processes}
    assert (roles[27916], roles[27926]) == (Role.RANK, Role.DATALOADER_WORKER)


def test_the_one_that_stands_elsewhere_is_named(tmp_path: pathlib.Path) -> None:
    """As a note: what the others wait for is not known."""
    one = found(saved(QUEUE), tmp_path / "apart")["one-stands-elsewhere"]
    assert (one.kind, str(one.ranks)) == (Kind.NOTE, "2")
    assert one.title.startswith("rank 2 stands in Queue.get, called at train.py:41, the other 2 ranks in Ring.add")
    assert "one-stands-elsewhere" not in found(saved(QUEUE, ("(idle)", "(active)")), tmp_path / "running")
    together = saved(QUEUE, ("train (train.py:41)", "Ring.add (_ring.py:26)\n    train (train.py:43)"))
    assert "one-stands-elsewhere" not in found(together, tmp_path / "together")


def test_types_of_a_binding_are_no_report(tmp_path: pathlib.Path) -> None:
    """Every stack of PyTorch with native frames has them: ``call_guard<gil_scoped_release>``."""
    assert "gil-waited-for" not in found(saved("collective-missed-by-rank/native-stacks-of-a-barrier"), tmp_path)


def test_a_lock_beats_a_loader_of_which_nobody_knows_why(tmp_path: pathlib.Path) -> None:
    rules = found(saved("fork-with-threads/loader-in-a-lock-of-threading"), tmp_path)
    assert "fork-took-a-lock" in rules
    assert "loader-silent" not in rules


SPINS = """\
Process 412: engine
Python v3.12.4 (/usr/bin/python3.12)

Thread 412 (active): "MainThread"
    acquire_read (ipc/ring.py:47)
    run_engine (ipc/engine.py:69)
"""
WORKS = (
    SPINS.replace("412", "415").replace("acquire_read", "synchronize").replace("ipc/ring.py", "torch/cuda/streams.py")
)
CHILDREN = """\
    PID STAT %CPU COMMAND
    414 Z    88.2 [python3.12] <defunct>
    415 Rl   99.4 worker 1
    416 Rl   99.0 worker 2
"""
KERNEL = "[4811.5] python3.12[{}]: segfault at 7f00 ip 00007f01 sp 00007ffc error 4 in libfast.so[7f00+4d2000]\n"


def crashed(folder: pathlib.Path, pid: int, command: str = "ps --ppid 412 -o pid,stat,pcpu,args") -> Finding | None:
    told = {"engine": SPINS, "rank 1": WORKS, "dmesg": KERNEL.format(pid), command: CHILDREN}
    for number, (label, text) in enumerate(told.items()):
        (folder / f"{number}_{label.replace(' ', '_')}.txt").write_text(text)
    return next((one for one in judge(gather([folder])).findings if one.rule == "rank-not-collected"), None)


def test_of_a_crash_that_the_kernel_tells_the_family_may_spin(tmp_path: pathlib.Path) -> None:
    """Its table has no column of parents, and the command names the one; who of several unseen ones is gone, nothing tells."""
    one = crashed(tmp_path, 414)
    assert one is not None
    assert (one.certainty, str(one.ranks)) == (Certainty.LIKELY, "")


@pytest.mark.parametrize(
    ("pid", "command"), [(991, "ps --ppid 412 -o pid,stat,pcpu,args"), (414, "ps -o pid,stat,pcpu,args")]
)
def test_a_crash_of_another_or_of_nobody_known_is_none_of_theirs(
    pid: int, command: str, tmp_path: pathlib.Path
) -> None:
    assert crashed(tmp_path, pid, command) is None
