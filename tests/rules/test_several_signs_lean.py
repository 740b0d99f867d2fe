"""Where no rule names a cause, several weak signs together say where to look first; one alone says nothing."""

# ruff: noqa: E501  (a text is one line)

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.formats.live_log import with_events
from rankscope.model.diagnosis import Certainty, Diagnosis, Finding, Kind
from rankscope.pipeline import case_of, judge
from rankscope.rules import _leanings, several_signs_lean
from rankscope.rules._leanings import Lean

LEANS = {
    "collective-missed-by-rank": "the idle DP rank waits in its dummy batch; the scheduler of the other rank has skipped that step; the server never answers",
    "queue-pipe-full": "the parent is in join() of its process\nsmall results pass; with a result of 3 MB it is stuck there, the child still in its feeder",
    "implicit-sync-deadlock": "one worker stands in cuModuleLoadDataEx, and the kernel of the collective is waited for; nothing moves",
    "compile-worker": "it waits for the inductor worker that runs ptxas, and never comes back",
}


def said(folder: pathlib.Path, text: str, label: str = "observation") -> Diagnosis:
    (folder / f"00_{label}.txt").write_text(text + "\n")
    return judge(gather([folder]))


def leaning(folder: pathlib.Path, text: str) -> str:
    """The class that the rule alone names, empty where it says nothing."""
    (folder / "00_observation.txt").write_text(text + "\n")
    found = list(several_signs_lean.check(case_of(with_events(gather([folder])))))
    return found[0].cls if found else ""


@pytest.mark.parametrize("cls", LEANS)
def test_signs_that_lean_to_one_cause_name_it(cls: str, tmp_path: pathlib.Path) -> None:
    assert leaning(tmp_path, LEANS[cls]) == cls


def test_it_is_never_more_than_possible_and_names_the_others(tmp_path: pathlib.Path) -> None:
    """GIVEN signs of two causes, WHEN nothing else speaks, THEN the stronger is possible, and the weaker is counter-evidence."""
    diagnosis = said(tmp_path, LEANS["collective-missed-by-rank"] + "\nthe batches come from tf.data")
    (finding,) = [one for one in diagnosis.findings if one.kind is Kind.CAUSE]
    assert (finding.rule, finding.cls) == ("several-signs-lean", "collective-missed-by-rank")
    assert finding.certainty is Certainty.POSSIBLE
    assert "dataloader-worker-deadlock" in finding.against[0]
    assert any("explain collective-missed-by-rank" in step for step in finding.next)


def test_it_keeps_silent_where_another_rule_names_a_cause(tmp_path: pathlib.Path) -> None:
    text = LEANS["queue-pipe-full"] + "\nRuntimeError: Cannot re-initialize CUDA in forked subprocess."
    assert "several-signs-lean" not in {one.rule for one in said(tmp_path, text).findings}


@pytest.mark.parametrize(
    "text",
    [
        "the DP engine that has no request is idle, the scheduler serves the other one",  # nobody complains
        "the parent is in join and waits",  # one sign
        LEANS["compile-worker"] + "\nstep 1 loss 2.1\nstep 2 loss 2.0\nstep 3 loss 1.9\nstep 4 loss 1.8",  # it goes on
        "To avoid hangs use spawn; a deadlock may happen where a process forks with threads of OpenMP",  # advice
    ],
)  # fmt: skip
def test_it_says_nothing_without_trouble_or_with_one_sign(text: str, tmp_path: pathlib.Path) -> None:
    assert leaning(tmp_path, text) == ""


def test_what_is_seen_can_be_asked_for(tmp_path: pathlib.Path) -> None:
    """Ranks in two places, and where each waits, are words that rows can use."""
    for rank, function in enumerate(("all_reduce", "barrier")):
        text = f'Thread 1 (active): "MainThread"\n    {function} (torch/distributed/distributed_c10d.py:2501)\n    step_{rank} (train.py:{rank + 3})\n'
        (tmp_path / f"rank{rank}.txt").write_text(text)
    case = case_of(with_events(gather([tmp_path])))
    assert {"@apart", "@rank-collective"} <= set(_leanings.facts(case))
    assert "@alike" not in _leanings.facts(case)


def test_points_add_up_and_conditions_hold(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.txt").write_text("a fork\n")
    (tmp_path / "b.txt").write_text("a lock\n")
    case = case_of(with_events(gather([tmp_path])))
    rows = (
        Lean("fork-with-threads 2 lock-order-deadlock 1", r"\bfork\b", "a fork"),
        Lean("lock-order-deadlock 2", r"\block\b", "a lock", unless=(r"\bfork\b",)),
        Lean("fork-with-threads 1", r"\block\b", "a lock of a child", also=(r"\bfork\b",)),
        Lean("gil-deadlock 3", r"\block\b", "a lock below the GIL", also=(r"\bGIL\b",)),
    )
    assert _leanings.total(_leanings.shown(case, rows)) == {"fork-with-threads": 3, "lock-order-deadlock": 1}


def weighed(folder: pathlib.Path, text: str, *said: Finding) -> list[tuple[str, Kind]]:
    """The classes and kinds of findings after other rules' words have been weighed against the signs."""
    (folder / "00_observation.txt").write_text(text + "\n")
    case = case_of(with_events(gather([folder])))
    return [(one.cls, one.kind) for one in several_signs_lean.after(case, list(said))]


def cause(certainty: Certainty, cls: str = "oom-kill") -> Finding:
    return Finding("some-rule", cls, Kind.CAUSE, certainty, "it may be this")


def test_a_possible_cause_for_which_less_speaks_comes_behind(tmp_path: pathlib.Path) -> None:
    """GIVEN a rule that calls a cause possible, WHEN more signs lean to another, THEN that one is the cause and the other a note."""
    found = weighed(tmp_path, LEANS["compile-worker"], cause(Certainty.POSSIBLE))
    assert found == [("compile-worker", Kind.CAUSE), ("oom-kill", Kind.NOTE)]


def test_a_likely_cause_is_not_weighed(tmp_path: pathlib.Path) -> None:
    assert weighed(tmp_path, LEANS["compile-worker"], cause(Certainty.LIKELY)) == [("oom-kill", Kind.CAUSE)]


def test_a_possible_cause_that_signs_speak_for_stays(tmp_path: pathlib.Path) -> None:
    same = cause(Certainty.POSSIBLE, "compile-worker")
    assert weighed(tmp_path, LEANS["compile-worker"], same) == [("compile-worker", Kind.CAUSE)]


@pytest.mark.parametrize("denied", ["no Xid in the kernel's log", "there is not a single Xid", "without Xid"])
def test_what_is_denied_is_no_sign(denied: str, tmp_path: pathlib.Path) -> None:
    assert leaning(tmp_path, f"it hangs; {denied}") == ""
    assert leaning(tmp_path, f"it hangs; {denied}; an hour later Xid 79") == "gpu-hardware-fault"


HELPED = {
    "fork-with-threads": "the workers hang; with forkserver it works",
    "p2p-iommu-hardware": "both cards hang at once; NCCL_P2P_DISABLE=1 fixes it",
    "implicit-sync-deadlock": "it freezes in the first request; CUDA_MODULE_LOADING=EAGER helps",
    "collective-cycle": "stuck after some steps; with NCCL_LAUNCH_ORDER_IMPLICIT=1 it runs",
    "queue-pipe-full": "the parent is stuck in join; reading all items before the join fixes it",
    "compile-worker": "it hangs at the first call, and is fine with TORCHINDUCTOR_COMPILE_THREADS=1",
}


@pytest.mark.parametrize("cls", HELPED)
def test_what_helped_tells_the_cause(cls: str, tmp_path: pathlib.Path) -> None:
    assert leaning(tmp_path, HELPED[cls]) == cls


def test_what_did_not_help_tells_nothing(tmp_path: pathlib.Path) -> None:
    assert leaning(tmp_path, "it freezes in the first request, whether CUDA_MODULE_LOADING is EAGER or not") == ""


NUMBERS = {
    "network-blackhole": "it hangs; OSError: [Errno 113] from a peer",
    "gpu-hardware-fault": "it hangs; kernel: NVRM: Xid (PCI:0000:3b:00): 95, pid=77",
    "cuda-async-error": "it hangs; kernel: NVRM: Xid (PCI:0000:3b:00): 31, pid=77",
    "driver-not-ready": "nothing starts: CUDA error code=802",
    "storage-full": "the writers hang: [Errno 122]",
}


@pytest.mark.parametrize("cls", NUMBERS)
def test_numbers_have_their_meaning(cls: str, tmp_path: pathlib.Path) -> None:
    assert leaning(tmp_path, NUMBERS[cls]) == cls
