"""Whether a job gets on, where no plain line of it was read."""

from __future__ import annotations

import json
from pathlib import Path

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
