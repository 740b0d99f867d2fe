"""A worker that gets there with a longer limit, and programs that say themselves that they make code."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty
from rankscope.pipeline import judge

ENDED = "[2026-09-09 17:35:00 +0200] [2613] [CRITICAL] WORKER TIMEOUT (pid:2625)\n"


def certainty(folder: pathlib.Path, text: str) -> Certainty | None:
    (folder / "notes.txt").write_text(text)
    found = judge(gather([folder]), 30.0).findings
    return next((one.certainty for one in found if one.cls == "not-a-hang-slow"), None)


@pytest.mark.parametrize(
    "then",
    ["same with -t 1000: it starts and serves", "again with --timeout 600\nworks", "with --harakiri=900 it answers"],
)
def test_a_longer_limit_that_helps_tells_of_long_work(tmp_path: pathlib.Path, then: str) -> None:
    """Nothing but the limit was changed."""
    assert certainty(tmp_path, f"{ENDED}{then}\n") is Certainty.LIKELY


def test_a_longer_limit_that_does_not_help_tells_nothing(tmp_path: pathlib.Path) -> None:
    """It stands however long one waits."""
    assert certainty(tmp_path, f"{ENDED}same with -t 1000: hangs for 1000 s\n") is not Certainty.LIKELY


def test_who_makes_code_and_says_so_is_slow(tmp_path: pathlib.Path) -> None:
    """Every rank makes a kernel for a new shape."""
    line = "[2026-04-16 08:13:14 TP{}] GEMM JIT code generation <fp8>: M=7857, N=576. Please wait.\n"
    assert certainty(tmp_path, "".join(map(line.format, range(4)))) is not None
