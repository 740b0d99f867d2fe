"""A line that is quoted can be opened where it stands, and one trouble is told once."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty, Diagnosis, Finding, Kind, Reason
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.ranks import RankSet
from rankscope.pipeline import judge
from rankscope.report.json_lines import to_dict
from rankscope.report.one_trouble import told_once
from rankscope.report.screen import render

KILLED = "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 0 (pid: 178) of binary: python"
WAITS = """\
Thread 11 (idle): "MainThread"
    wait (torch/utils/file_baton.py:50)
    _jit_compile (torch/utils/cpp_extension.py:1700)
    load (torch/utils/cpp_extension.py:1200)
    <module> (train.py:3)
"""


def judged(folder: Path, **texts: str) -> Diagnosis:
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return judge(gather([folder]))


@pytest.mark.parametrize("head", ["", "2026-11-02 10:00:01,123 launcher: "], ids=["alone", "behind a head"])
def test_a_quoted_line_is_found_again(head: str, tmp_path: Path) -> None:
    found = judged(tmp_path, launcher=f"starts\nruns\n{head}{KILLED}\n", other="nothing to tell\n")
    (first, *_) = [one for one in found.findings if one.cls == "oom-kill"]
    assert {reason.place for reason in first.because} == {"launcher.txt:3"}
    assert "(launcher.txt:3)" in " ".join(render(found).split())
    assert to_dict(found)["findings"][0]["because"][0]["place"] == "launcher.txt:3"


def test_one_line_is_quoted_once(tmp_path: Path) -> None:
    """Though two signs are in it: that the process was killed, and that it said nothing."""
    assert render(judged(tmp_path, launcher=KILLED)).count("exitcode:") == 1


GDB = """\
Thread 1 (Thread 0x7f2a4c740 (LWP 26346) "python"):
#0  __lll_lock_wait () at ../nptl/sysdeps/unix/sysv/linux/x86_64/lowlevellock.S:135
#1  0x00007f0b in __kmp_lock_suspend_mx () from /opt/lib/libiomp5.so
#2  0x00007f0b in torch::set_num_threads(int) () from /opt/lib/libtorch_cpu.so
"""


def test_of_a_stack_it_is_told_whose_it_is(tmp_path: Path) -> None:
    """Frames are written in one form, whatever tool showed them: they are no lines of a file."""
    found = judged(tmp_path, DataLoader_worker_26346=GDB, rank_1=WAITS)
    places = {
        reason.place for one in found.findings for reason in one.because if "__kmp_lock_suspend_mx" in reason.text
    }
    assert places == {"DataLoader worker 26346"}


def test_causes_of_one_class_are_told_once(tmp_path: Path) -> None:
    """Two rules know a lock file that was left behind; the findings stay apart for programs."""
    found = judged(tmp_path, dump=WAITS)
    assert len([one for one in found.findings if one.cls == "file-lock-stale"]) == 2
    assert render(found).count("[file-lock-stale") == 1


def test_who_is_accused_is_never_lost() -> None:
    """A cause of the same class is told by itself where it names a rank or a process that the one before does not."""

    def cause(cls: str, *ranks: int, pid: int = 0) -> Finding:
        because = (Reason(f"seen of {ranks} and {pid}"),)
        who = (Process(ProcessRef("node1", pid), Role.OTHER),) if pid else ()
        return Finding("a-rule", cls, Kind.CAUSE, Certainty.LIKELY, cls, RankSet(ranks), who, because)

    one, other, none = cause("dead-rank", 1), cause("dead-rank", 2), cause("dead-rank")
    assert told_once([one, other]) == [one, other]
    assert told_once([none, one]) == [none, one]
    assert len(told_once([cause("exit-hang", pid=7), cause("exit-hang", pid=8)])) == 2
    assert [len(kept.because) for kept in told_once([one, none, cause("oom-kill", 1)])] == [2, 1]


@pytest.mark.parametrize(
    ("ranks", "told"),
    [((8,), "rank 8"), ((0, 4), "ranks 0,4"), ((0, 1), "2 ranks")],
    ids=["one", "a gap", "all so far"],
)
def test_of_how_many_ranks_nobody_tells(ranks: tuple[int, ...], told: str, tmp_path: Path) -> None:
    """There may be more of them above the last one that was saved."""
    found = judged(tmp_path, **{f"rank_{rank}": WAITS for rank in ranks})
    assert f"read from files, {told}\n" in render(found)
