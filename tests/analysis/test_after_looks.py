"""A log whose steps go on behind the moment of a look shows that what was seen then is over."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

LOOK = """\
Process 811: python train.py
Python v3.10.12 (/usr/bin/python3.10)

Thread 811 (idle): "MainThread"
    select (selectors.py:415)
    wait (multiprocessing/connection.py:930)
    _poll (multiprocessing/connection.py:423)
    get (multiprocessing/queues.py:113)
    _try_get_data (torch/utils/data/dataloader.py:1131)
    _next_data (torch/utils/data/dataloader.py:1327)
    train (train.py:140)
    <module> (train.py:150)

Process 812: python train.py
Python v3.10.12 (/usr/bin/python3.10)

Thread 812 (active): "MainThread"
    all_reduce (torch/distributed/distributed_c10d.py:1992)
    train (train.py:161)
    <module> (train.py:150)
"""
LOG = "".join(f"2023-11-06 09:13:{at:02} iter {22000 + at} loss 0.41 it/s 3.31\n" for at in range(10, 60, 10))


@pytest.mark.parametrize(
    ("name", "more", "accused"),
    [
        ("py-spy_09_13_30", "", False),
        ("py-spy_09_14_20", "", True),
        ("py-spy_09_14_20", "2023-11-06 09:14:20 iter 22080 loss 0.4\n2023-11-06 09:14:30 iter 22090 loss 0.4\n", False),
        ("py-spy", "", True),
        # A clock of another zone: the log may have ended long before.
        ("py-spy_08_30_20", "", True),
        ("py-spy_09_13_30", "RuntimeError: DataLoader timed out after 60 seconds\n", True),
    ],
    ids=["before the last steps", "after them", "between steps", "at no known time", "an hour apart", "with an error"],
)  # fmt: skip
def test_steps_behind_the_look_of_a_job(name: str, more: str, accused: bool, tmp_path: Path) -> None:
    (tmp_path / f"{name}.txt").write_text(LOOK)
    (tmp_path / "train.log").write_text(LOG + more)
    assert (judge(gather([tmp_path])).verdict is not None) is accused
