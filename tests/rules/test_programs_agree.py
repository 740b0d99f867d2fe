"""What was compiled of one program has one fingerprint on all hosts, or the calls in it are not the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

MINE, OTHER, LATER = "5b1f0cd1e2a9", "e0227a4c9b31", "77aa01cd2b3c"
WAITS = "    block_until_ready (jax/_src/array.py:614)\n    train (run.py:171)\n"
FORM = "host{}: jit_train_step: fingerprint {}  channels: all-reduce.17\n"
KEY = "[rank{}] module jit(train_step) with cache key {}\n"


def said(*prints: str, form: str = FORM) -> str:
    return "".join(form.format(who, made) for who, made in enumerate(prints))


def rules(folder: Path, text: str) -> dict[str, str]:
    (folder / "log.txt").write_text(text)
    (folder / "stack.txt").write_text('Thread 1 (idle): "MainThread"\n' + WAITS)
    return {one.rule: one.title for one in judge(gather([folder])).findings}


@pytest.mark.parametrize(
    "text",
    [
        said(MINE, MINE, MINE, OTHER),
        said(MINE, MINE, MINE, OTHER, form=KEY),
        said(MINE, MINE, MINE) + said(MINE, LATER, MINE),
    ],
    ids=["fingerprints", "keys", "the second program"],
)
def test_who_made_another_program_is_named(text: str, tmp_path: Path) -> None:
    assert "made another jit" in rules(tmp_path, text)["calls-differ"]


@pytest.mark.parametrize(
    "text",
    [
        said(MINE, MINE, MINE, MINE),
        said(MINE, OTHER),  # of two, none is the odd one
        said(MINE, OTHER, LATER),  # each host's own
        said(MINE, MINE, MINE) + said(LATER, LATER),  # one is not as far yet
    ],
    ids=["all alike", "two", "own ones", "one is late"],
)
def test_programs_alike_or_of_each_host_say_nothing(text: str, tmp_path: Path) -> None:
    assert "calls-differ" not in rules(tmp_path, text)
