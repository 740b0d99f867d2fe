"""Who is held by a tracer does not go on: that his stack stands apart from those of the others is no other way that he went."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Diagnosis
from rankscope.pipeline import judge

STACK = (
    'Process {pid}: python -u train.py\nPython v3.10.12 (/usr/bin/python3.10)\n\nThread {pid} (idle): "MainThread"\n'
)
WAITS = "    all_reduce (torch/distributed/distributed_c10d.py:2219)\n    step (train.py:{line})\n    <module> (train.py:70)\n"
WORKS = "    forward (torch/nn/modules/linear.py:116)\n    step (train.py:41)\n    <module> (train.py:70)\n"
STATUS = "State:\t{state}\nTracerPid:\t{tracer}\nThreads:\t88\n"
RUNS, SLEEPS, HELD = (("R (running)", 0), ("S (sleeping)", 0), ("t (tracing stop)", 9011))


def diagnosis(folder: Path, heading: str, *states: tuple[str, int], more: str = "") -> Diagnosis:
    for at, body in enumerate((WAITS.format(line=50), WORKS, WAITS.format(line=50))):
        (folder / f"rank{at}.txt").write_text(STACK.format(pid=5100 + at) + body)
    told = "".join(STATUS.format(state=state, tracer=tracer) for state, tracer in states)
    (folder / "status.txt").write_text(f"=== {heading}\n{told}{more}")
    return judge(gather([folder]))


@pytest.mark.parametrize(
    ("heading", "states", "more", "ranks"),
    [
        ("for p in 5100 5101 5102: cat /proc/$p/status", (RUNS, HELD, RUNS), "", [1]),
        ("all three", (), "/proc/5100/status:State:\tR (running)\n/proc/5101/status:State:\tt (tracing stop)\n", [1]),
        ("odd one", (), "Name:\tpython\nState:\tt (tracing stop)\nTgid:\t5101\nPid:\t5101\nTracerPid:\t9011\n", [1]),
        ("grep -E 'State|TracerPid' /proc/5101/status", (HELD,), "", [1]),
        ("status of the odd one", (HELD,), "=== pgrep -a strace\n9011 strace -f -p 5101 -o /tmp/out\n", [1]),
        ("status of one of them", (HELD,), "", []),
    ],
    ids=["by their order", "behind its path", "by its number", "by its path", "by its tracer", "nobody tells whose it is"],
)  # fmt: skip
def test_a_traced_rank_is_held(
    heading: str, states: tuple[tuple[str, int], ...], more: str, ranks: list[int], tmp_path: Path
) -> None:
    verdict = diagnosis(tmp_path, heading, *states, more=more).verdict
    assert verdict is not None
    assert (verdict.cls, verdict.certainty.name, list(verdict.ranks)) == ("process-stopped", "LIKELY", ranks)


def test_who_is_not_held_went_another_way(tmp_path: Path) -> None:
    verdict = diagnosis(tmp_path, "for p in 5100 5101 5102: cat /proc/$p/status", RUNS, SLEEPS, RUNS).verdict
    assert verdict is not None
    assert verdict.cls != "process-stopped"
    assert list(verdict.ranks) == [1]


def test_a_status_behind_the_stack_of_another_rank_is_not_of_that_one(tmp_path: Path) -> None:
    status = "Name:\tpython\nState:\tT (stopped)\nTgid:\t5101\nPid:\t5101\nTracerPid:\t0\n"
    for at, body in enumerate((WORKS, WAITS.format(line=50) + f"=== cat /proc/5101/status\n{status}")):
        (tmp_path / f"rank{1 - at}.txt").write_text(STACK.format(pid=5101 - at) + body)
    verdict = judge(gather([tmp_path])).verdict
    assert verdict is not None
    assert (verdict.cls, list(verdict.ranks)) == ("process-stopped", [1])
