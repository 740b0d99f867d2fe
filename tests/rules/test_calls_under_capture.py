"""Calls that a stream under capture does not allow, and who tells that a process went without telling why."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

LINES = (
    "HIP error: operation not permitted on an event last recorded in a capturing stream (hipErrorCapturedEvent)",
    "RuntimeError: CUDA error: operation not permitted when stream is capturing",
    "torch.AcceleratorError: CUDA error: operation failed due to a previous error during capture",
    "cudaErrorStreamCaptureUnsupported returned by the allocator",
)
GONE = "RuntimeError: Rank 0 scheduler died during initialization (exit code: -6)\n"


def verdict(folder: pathlib.Path, text: str) -> str | None:
    (folder / "server.log").write_text(text)
    found = judge(gather([folder]), 30.0).verdict
    return found.cls if found else None


@pytest.mark.parametrize("line", LINES)
def test_what_capture_forbids_is_told_before_who_went(tmp_path: pathlib.Path, line: str) -> None:
    """The parent's error comes after it, and is none of its own."""
    assert verdict(tmp_path, f"{line}\nFatal Python error: Aborted\n{GONE}") == "cuda-async-error"


def test_a_capture_that_goes_well_is_none(tmp_path: pathlib.Path) -> None:
    """Servers tell of each one."""
    assert verdict(tmp_path, "Capturing CUDA graphs: 100%\nGraph capturing finished in 12 s\n") != "cuda-async-error"
