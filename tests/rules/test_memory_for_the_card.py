"""The verbs library refuses to register memory: a limit where little may be locked, else the card or its driver."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

REFUSED = "node7:880:901 [2] misc/ibvwrap.cc:190 NCCL WARN Call to ibv_reg_mr failed\n"


@pytest.mark.parametrize(
    ("beside", "cls"),
    [
        ("$ systemctl show slurmd -p LimitMEMLOCK\nLimitMEMLOCK=65536\n", "resource-limit"),
        ("$ ulimit -a | grep locked\nmax locked memory       (kbytes, -l) 64\n", "resource-limit"),
        ("$ ulimit -a | grep locked\nmax locked memory       (kbytes, -l) unlimited\n", "ib-transport-error"),
        ("$ hostname\nnode7\n", "ib-transport-error"),
    ],
)
def test_what_may_be_locked_decides(beside: str, cls: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "out.node7").write_text(REFUSED)
    (tmp_path / "shell on node7.txt").write_text(beside)
    found = {finding.cls for finding in judge(gather([tmp_path])).findings if finding.rule != "like-known-cases"}
    assert found == {cls}
