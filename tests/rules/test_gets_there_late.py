"""What begins minutes after its last line, or speaks at long intervals, is slow, also where its last line is that of a set-up."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Kind
from rankscope.pipeline import judge

REDUCES = "INFO:tensorflow:batch_all_reduce: 1871 all-reduces with algorithm = nccl, num_packs = 1\n"
STANDS = "the GPUs are at 100 %\n"


def verdict(folder: pathlib.Path, text: str) -> str | None:
    (folder / "console.txt").write_text(text)
    found = [
        one for one in judge(gather([folder])).findings if one.kind is Kind.CAUSE and one.rule != "like-known-cases"
    ]
    return found[0].cls if found else None


@pytest.mark.parametrize(
    "told",
    [
        "training starts about ten minutes after this\n",
        "the first step comes 12 min later\n",
        "some seven minutes between the lines\n",
    ],
)
def test_what_comes_late_is_slow(tmp_path: pathlib.Path, told: str) -> None:
    assert verdict(tmp_path, REDUCES + STANDS + told) == "not-a-hang-slow"


@pytest.mark.parametrize(
    "told",
    [
        "nothing comes after this\n",
        "training starts, and ten minutes later it hangs\n",
        "training starts 2 s after the warm-up and hangs\n",
    ],
)
def test_what_does_not_come_stands(tmp_path: pathlib.Path, told: str) -> None:
    assert verdict(tmp_path, REDUCES + STANDS + told) == "stuck-below-program"


@pytest.mark.parametrize(
    "told", ["each epoch takes about 180 s\n", "every image lasts 40 sec\n", "a file needs ~3 min\n"]
)
def test_so_long_for_each_is_slow(tmp_path: pathlib.Path, told: str) -> None:
    assert verdict(tmp_path, "GPU 0 is used a little\n" + told) == "not-a-hang-slow"


def test_so_long_for_each_while_others_wait_is_no_sign(tmp_path: pathlib.Path) -> None:
    assert verdict(tmp_path, "each epoch takes 180 s, then the others wait for rank 3\n") != "not-a-hang-slow"
