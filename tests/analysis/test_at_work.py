"""Whether a job gets on, where no plain line of it was read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rankscope.analysis.at_work import Well, well
from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty
from rankscope.pipeline import case_of, judge


def test_an_error_file_alone_is_no_job_at_work(tmp_path: Path) -> None:
    """It has an exception and no lines."""
    error = "ValueError: vocabulary of 7"
    stack = f'Traceback (most recent call last):\n  File "/app/train.py", line 7, in main\n    x.step()\n{error}\n'
    said = {"message": {"message": error, "extraInfo": {"py_callstack": stack, "timestamp": "1793527200"}}}
    (tmp_path / "error.json").write_text(json.dumps(said))
    snapshot = gather([tmp_path])
    assert well(case_of(snapshot)) is Well.UNKNOWN
    verdict = judge(snapshot).verdict
    assert verdict is not None
    assert verdict.cls == "dead-rank"


STEPS = "".join(f"[2026-11-02 10:{at:02d}:00] step {at * 10}/2000 loss {3 - at * 0.02:.3f}\n" for at in range(1, 41))
MOUNT_DEAD = """\
State:\tD (disk sleep)
[<0>] rpc_wait_bit_killable+0x24/0xa0 [sunrpc]
[<0>] nfs4_call_sync_sequence+0x7e/0xb0 [nfsv4]
[<0>] nfs_wait_on_request+0x3a/0x60 [nfs]
"""


def test_a_log_that_gets_on_hides_no_trouble_of_which_another_file_tells(tmp_path: Path) -> None:
    """The log may have ended before, or be that of another rank: it is less sure, and not nothing."""
    (tmp_path / "train.log").write_text(STEPS)
    assert judge(gather([tmp_path])).verdict is None
    (tmp_path / "kernel_stack_of_4411.txt").write_text(MOUNT_DEAD)
    verdict = judge(gather([tmp_path])).verdict
    assert verdict is not None
    assert (verdict.cls, verdict.certainty) == ("filesystem-stall", Certainty.POSSIBLE)


def test_what_the_log_itself_tells_is_over_where_it_gets_on(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(MOUNT_DEAD + STEPS)
    (tmp_path / "host.txt").write_text("node17, 8 devices\n")
    assert judge(gather([tmp_path])).verdict is None


WARNS = (
    "[rank0]:[W1107 13:02:08.551092001 ProcessGroupNCCL.cpp:4115] [PG ID 0 PG GUID 0 Rank 0]  using GPU 0 to perform barrier as "
    "devices used by this process are currently unknown. This can potentially cause a hang if this rank to GPU mapping is "
    "incorrect. Specify device_ids in barrier() to force use of a particular device.\n"
)
PACED = "".join(f"10:{at:02d}:07 epoch 4 step {at}0/2500 loss 2.71 0.{{}} s/it\n" for at in range(10, 30))
BACKWARD = """\
Process {pid}: python -u train.py
Python v3.11.7 (/usr/bin/python3.11)

Thread {pid} (active): "MainThread"
    {inner} (train.py:{line})
    epoch (train.py:152)
    <module> (train.py:201)
"""


@pytest.mark.parametrize(
    ("log", "health"),
    [
        (WARNS + PACED.format(*[412] * 20), Well.SEEMS),
        (WARNS + PACED.replace("0.{}", "{}").format(*[412] * 20), Well.UNKNOWN),
        (WARNS + PACED.format(*[412] * 20) + "the job hangs\n", Well.UNKNOWN),
    ],
    ids=["under a second a step", "minutes a step", "somebody complains"],
)
def test_what_a_warning_fears_is_no_complaint_beside_steps_that_go_on(log: str, health: Well, tmp_path: Path) -> None:
    """The digits behind a point are no hundreds of seconds."""
    for rank, inner in enumerate(("item_loss", "clip")):
        (tmp_path / f"rank_{rank}.txt").write_text(BACKWARD.format(pid=2000 + rank, inner=inner, line=171 - rank))
    (tmp_path / "train.log").write_text(log)
    snapshot = gather([tmp_path])
    assert well(case_of(snapshot)) is health
    if health is Well.SEEMS:
        assert judge(snapshot).verdict is None
