"""Ranks that hang, as each tool shows them: gdb's py-bt, faulthandler, pystack, py-spy."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty, Diagnosis, Kind
from rankscope.pipeline import judge

SITE = "/opt/venv/lib/python3.11/site-packages/torch/distributed"
# gdb shows the built-in function in which a thread waits, as a frame of its own.
PY_BT = """\
Thread 1 (Thread 0x7f850c22cb80 (LWP {pid}) "python"):
Traceback (most recent call first):
{frames}
"""
REDUCES = f"""\
  <built-in method wait of pybind11_builtins.pybind11_detail_function_record_v1_system object at remote 0x7f84ef5e0950>
  File "{SITE}/distributed_c10d.py", line 3252, in all_reduce
    work.wait()
  File "{SITE}/c10d_logger.py", line 83, in wrapper
    return func(*args, **kwargs)
  File "/job/job.py", line 10, in train_step
    dist.all_reduce(x)
  File "/job/job.py", line 26, in <module>
    train_step(i)"""
BARRIER = REDUCES.replace("all_reduce", "barrier").replace("train_step", "save")
CRUNCHES = """\
  File "/job/job.py", line 15, in crunch
    while True: s+=1
  File "/job/job.py", line 27, in <module>
    if i==3 and R==1: crunch()"""


def _judged(tmp_path: pathlib.Path, texts: list[str]) -> Diagnosis:
    for rank, text in enumerate(texts):
        (tmp_path / f"rank{rank}.txt").write_text(text)
    return judge(gather([tmp_path]))


@pytest.mark.parametrize(
    ("stacks", "odd"),
    [
        pytest.param([REDUCES, REDUCES, BARRIER], [2], id="two reduce, one is in a barrier"),
        pytest.param([REDUCES, BARRIER, BARRIER], [0], id="one reduces, two are in a barrier"),
        pytest.param([REDUCES, CRUNCHES, REDUCES], [1], id="two reduce, one computes"),
    ],
)
def test_py_bt_shows_who_waits_in_a_built_in_function(
    tmp_path: pathlib.Path, stacks: list[str], odd: list[int]
) -> None:
    found = _judged(tmp_path, [PY_BT.format(pid=4100 + at, frames=stack) for at, stack in enumerate(stacks)])
    assert found.verdict is not None
    assert list(found.verdict.ranks) == odd


def _dumped(way: str, pid: int) -> str:
    """A rank as py-spy shows it, on its way from the outermost function to the call."""
    frames = "\n".join(f"    {name} (/job/job.py:{10 + at})" for at, name in enumerate(way.split(" > ")[::-1]))
    call = "    all_reduce (torch/distributed/distributed_c10d.py:3252)"
    head = f'Process {pid}: python job.py\nPython v3.11.7 (/usr/bin/python3.11)\n\nThread {pid} (idle): "MainThread"'
    return "\n".join((head, *((call,) if "reduce" in way else ()), frames, ""))


ROW, COLUMN = "step > reduce_row", "step > reduce_column"


def test_of_two_equal_halves_nobody_is_named(tmp_path: pathlib.Path) -> None:
    parted = _judged(tmp_path, [PY_BT.format(pid=4100 + at, frames=(REDUCES, BARRIER)[at % 2]) for at in range(4)])
    assert parted.verdict is not None
    assert (parted.verdict.cls, list(parted.verdict.ranks)) == ("collective-missed-by-rank", [])
    assert "half of the ranks" in parted.verdict.title


@pytest.mark.parametrize(
    ("ways", "cls"),
    [
        pytest.param([ROW, COLUMN, COLUMN, ROW], "collective-cycle", id="a mesh entered in opposite orders"),
        pytest.param([ROW, COLUMN, COLUMN, ROW] * 2, "collective-cycle", id="two meshes"),
        pytest.param([ROW, COLUMN, ROW, COLUMN], "collective-missed-by-rank", id="a column is whole"),
        pytest.param([ROW, ROW, COLUMN, COLUMN], "collective-missed-by-rank", id="a row is whole"),
    ],
)
def test_halves_across_the_rows_and_columns_of_a_mesh_may_be_a_cycle(
    tmp_path: pathlib.Path, ways: list[str], cls: str
) -> None:
    found = _judged(tmp_path, [_dumped(way, 4100 + at) for at, way in enumerate(ways)])
    assert found.verdict is not None
    assert (found.verdict.cls, list(found.verdict.ranks)) == (cls, [])
    assert cls != "collective-cycle" or found.verdict.certainty is Certainty.POSSIBLE


def test_two_ranks_that_are_awaited_are_both_named(tmp_path: pathlib.Path) -> None:
    found = _judged(tmp_path, [_dumped(way, 4100 + at) for at, way in enumerate(("step > count", "step > count", ROW))])
    assert found.verdict is not None
    assert list(found.verdict.ranks) == [0, 1]
    assert [list(one.ranks) for one in found.findings if one.kind is Kind.CAUSE] == [[0], [1]]


THREAD = """\
Thread 0x00007f9fd42f86c0 (most recent call first):
{frames}
  File "/usr/lib/python3.11/threading.py", line 982 in run
  File "/usr/lib/python3.11/threading.py", line 1045 in _bootstrap_inner
  File "/usr/lib/python3.11/threading.py", line 1002 in _bootstrap

Current thread 0x00007f9fd4e35b80 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 1590 in _shutdown
"""
WAITS = '  File "/usr/lib/python3.11/threading.py", line 327 in wait\n  File "/usr/lib/python3.11/queue.py", line 171 in get\n'
LAST_WORDS = "the script prints its last line and then never exits\n"


@pytest.mark.parametrize(
    ("text", "kind", "certainty"),
    [
        pytest.param(
            THREAD.format(frames='  File "/job/work.py", line 4 in crunch'), Kind.NOTE, Certainty.POSSIBLE, id="at work"
        ),
        pytest.param(
            THREAD.format(frames=WAITS + '  File "/job/work.py", line 5 in worker'),
            Kind.CAUSE,
            Certainty.POSSIBLE,
            id="waits",
        ),
        pytest.param(
            LAST_WORDS + THREAD.format(frames='  File "/job/work.py", line 4 in crunch'),
            Kind.CAUSE,
            Certainty.LIKELY,
            id="told",
        ),
    ],
)
def test_a_program_that_waits_for_its_threads_at_its_end_may_be_well(
    tmp_path: pathlib.Path, text: str, kind: Kind, certainty: Certainty
) -> None:
    told = [one for one in _judged(tmp_path, [text]).findings if one.rule == "ends-never"]
    assert [(one.kind, one.certainty) for one in told] == [(kind, certainty)]


def test_a_thread_that_py_spy_saw_run_keeps_its_program_rightly(tmp_path: pathlib.Path) -> None:
    (tmp_path / "dump.txt").write_text(
        'Process 41: python work.py\nPython v3.11.7 (/usr/bin/python3.11)\n\nThread 41 (idle): "MainThread"\n'
        '    _shutdown (threading.py:1590)\nThread 42 (active+gil): "Thread-1 (crunch)"\n    crunch (work.py:4)\n'
        "    run (threading.py:982)\n    _bootstrap_inner (threading.py:1045)\n    _bootstrap (threading.py:1002)\n"
    )
    assert judge(gather([tmp_path])).verdict is None


MONITOR = """\
Thread 0x00007f5e1b7fe640 (most recent call first):
  File "/opt/lib/python3.10/threading.py", line 324 in wait
  File "/opt/lib/python3.10/site-packages/tqdm/_monitor.py", line 60 in run
  File "/opt/lib/python3.10/threading.py", line 973 in _bootstrap

"""
NAMELESS = MONITOR + (
    "Current thread 0x00007f62a44f1740 (most recent call first):\n"
    f'  File "{SITE}/distributed_c10d.py", line 3405 in {{call}}\n'
    '  File "/job/trainer.py", line {line} in {caller}\n'
    '  File "/job/trainer.py", line 301 in step\n'
    '  File "/job/train.py", line 96 in <module>\n'
)
BAR = "  9%|▉         | 174/1900 [{elapsed}<26:38:11, 55.56s/it]\n"
LIMIT = (
    "[rank0]:[E412 11:52:28.310552163 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=41833, OpType=ALLGATHER, NumelIn=1, NumelOut=4, Timeout(ms)=1800000) ran for 1800018 milliseconds before "
    "timing out.\n"
)


def test_of_threads_without_names_the_one_of_the_program_tells_where_a_rank_stands(tmp_path: pathlib.Path) -> None:
    """faulthandler begins with the newest thread, a helper."""
    gathers, trains = (NAMELESS.format(call="all_gather_object", line=387, caller="flush"),
                       NAMELESS.format(call="all_reduce", line=262, caller="rollout"))  # fmt: skip
    verdict = _judged(tmp_path, [gathers, gathers, trains]).verdict
    assert verdict is not None
    assert (verdict.cls, list(verdict.ranks)) == ("collective-missed-by-rank", [2])


@pytest.mark.parametrize(("elapsed", "prepares"), [("2:41:07", False), ("31:07", True)])
def test_a_bar_that_ran_long_before_the_wait_began_counts_the_steps_of_all(
    elapsed: str, prepares: bool, tmp_path: pathlib.Path
) -> None:
    diagnosis = _judged(tmp_path, [BAR.format(elapsed=elapsed) + LIMIT])
    assert ("one-rank-prepares" in {one.rule for one in diagnosis.findings}) is prepares


SPY = """\
Process {pid}: python fit.py
Python v3.11.7 (python)

Thread {pid} (active): "MainThread"
{stack}    <module> (fit.py:81)
"""
HOOK = """\
    barrier (torch/distributed/distributed_c10d.py:3685)
    metrics (result.py:480)
    on_batch_end (preview.py:52)
    advance (loop.py:270)
"""
NEXT = (
    "    <genexpr> (torch/amp/grad_scaler.py:350)\n    step (torch/amp/grad_scaler.py:454)\n    advance (loop.py:250)\n"
)
SHOWN = """\
    {mark}
    def on_batch_end(self, trainer, batch):
        best = trainer.metrics['dice']
        self.save(best)
"""


@pytest.mark.parametrize(
    ("mark", "others", "led"),
    [("@rank_zero_only", NEXT, True), ("@torch.no_grad()", NEXT, False), ("@rank_zero_only", HOOK, False)],
    ids=["of rank zero alone", "of all", "all are in it"],
)
def test_a_function_of_one_rank_that_leads_to_a_call_of_all(
    mark: str, others: str, led: bool, tmp_path: pathlib.Path
) -> None:
    """Its peers wait for the device in their next step."""
    (tmp_path / "preview.py.txt").write_text(SHOWN.format(mark=mark))
    stacks = (HOOK, others, others)
    diagnosis = _judged(tmp_path, [SPY.format(pid=510 + at, stack=one) for at, one in enumerate(stacks)])
    assert any(one.title.startswith("on_batch_end, which one rank alone runs") for one in diagnosis.findings) is led
    verdict = diagnosis.verdict
    assert not led or (verdict is not None and verdict.cls == "collective-missed-by-rank")
