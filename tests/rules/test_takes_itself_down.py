"""What a watchdog finds of a group that takes itself down at the end of the program is no failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Diagnosis
from rankscope.pipeline import judge

FOUND = "I0312 09:07:51.402117 88121 ProcessGroupNCCL.cpp:484] [Rank 1] found async exception when checking for NCCL errors: "
FRAMES = """
Exception raised from checkForNCCLErrorsInternal at ../torch/csrc/c10d/ProcessGroupNCCL.cpp:1729 (most recent call first):
# 0  0x00000000021c7d7b
# 1  c10d::ProcessGroupNCCL::checkForNCCLErrorsInternal(std::shared_ptr<c10d::NCCLComm>&)
# 2  c10d::ProcessGroupNCCL::WorkNCCL::checkAndSetException()
# 3  c10d::ProcessGroupNCCL::ncclCommWatchdog()
# 4  start_thread
"""
ITS_OWN = [
    "NCCL communicator encountered error set by ProcessGroupNCCL: Process Group shutdown on rank 1",
    "NCCL communicator was aborted on rank 1.  Original reason for failure was: Process Group shutdown on rank 1",
]


def judged(folder: Path, text: str) -> Diagnosis:
    """The log of one rank."""
    (folder / "rank_1.log").write_text(text)
    return judge(gather([folder]))


@pytest.mark.parametrize("frames", [FRAMES, "\n"], ids=["with its frames", "alone"])
@pytest.mark.parametrize("message", ITS_OWN)
def test_nobody_is_accused_of_taking_a_group_down(message: str, frames: str, tmp_path: Path) -> None:
    assert judged(tmp_path, f"epoch 3 step 40 loss 0.31\n{FOUND}{message}{frames}").verdict is None


def test_another_reason_is_one(tmp_path: Path) -> None:
    message = (
        "NCCL communicator was aborted on rank 1.  Original reason for failure was: NCCL error: unhandled system error"
    )
    assert judged(tmp_path, f"epoch 3 step 40 loss 0.31\n{FOUND}{message}{FRAMES}").findings


def test_an_end_that_hangs_is_one_nevertheless(tmp_path: Path) -> None:
    (tmp_path / "seen.txt").write_text("training finished, and no prompt comes back; the process stays\n")
    assert judged(tmp_path, f"{FOUND}{ITS_OWN[0]}{FRAMES}").verdict is not None
