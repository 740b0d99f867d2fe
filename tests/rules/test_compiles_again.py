"""A job that compiles for most of its time, again and again, is slow; one that compiled at its start is not."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Kind
from rankscope.pipeline import judge


def compiled(at: int, seconds: int, name: str) -> str:
    """What torch_xla logs of one graph."""
    head = "I torch_xla/csrc/tensor.cpp:1556]"
    return "".join(f"{clock(at + after)}.{after:06d}: {head} Compiling IR graph hash {name} on device TPU:0{end}\n"
                   for after, end in ((0, " ..."), (seconds, " done!")))  # fmt: skip


def clock(seconds: int) -> str:
    return f"{seconds // 3600 % 24:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def ran(at: int, name: str) -> str:
    return (
        f"{clock(at)}.000001: I torch_xla/csrc/tensor.cpp:1303] Executing IR graph hash {name} on device TPU:0 done!\n"
    )


def jax(at: int, seconds: float) -> str:
    return f"2026-03-01 {clock(at)},100 Finished XLA compilation of jit(update) in {seconds} sec\n"


@pytest.mark.parametrize(
    ("log", "slow"),
    [
        pytest.param(compiled(0, 70, "a1") + ran(71, "a1") + compiled(72, 66, "b2") + ran(139, "b2"), True, id="each step"),
        pytest.param(compiled(0, 70, "a1") + "...\n" + compiled(4000, 66, "b2"), True, id="with something left out"),
        pytest.param(compiled(86_370, 70, "a1") + compiled(50, 66, "b2"), True, id="over midnight"),
        pytest.param(jax(100, 88.1) + jax(190, 87.5) + jax(280, 88.9), True, id="JAX"),
        pytest.param(compiled(0, 2, "a1") + ran(3, "a1") + compiled(4, 2, "b2") + ran(9, "b2"), False, id="quick"),
        pytest.param(compiled(0, 70, "a1") + ran(71, "a1") + ran(72, "a1"), False, id="once"),
        pytest.param(compiled(0, 70, "a1") + compiled(71, 66, "b2") + ran(1500, "b2"), False, id="long ago"),
    ],
)  # fmt: skip
def test_a_log_of_compilations_is_compared_with_its_clock(log: str, slow: bool, tmp_path: pathlib.Path) -> None:
    (tmp_path / "train.txt").write_text("=== console, it gets stuck in the step\n" + log)
    found = [one for one in judge(gather([tmp_path])).findings if "compiles for most" in one.title]
    assert [one.cls for one in found] == (["not-a-hang-slow"] if slow else [])


def test_nobody_asked_about_a_job_that_compiles(tmp_path: pathlib.Path) -> None:
    (tmp_path / "train.txt").write_text(compiled(0, 70, "a1") + compiled(71, 66, "b2"))
    found = [one for one in judge(gather([tmp_path])).findings if "compiles for most" in one.title]
    assert [one.kind for one in found] == [Kind.NOTE]
