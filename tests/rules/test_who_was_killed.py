# ruff: noqa: E501  (a line of a log is one line)
"""torchrun's report of a failure says which ranks were killed, and which it ended itself."""

from __future__ import annotations

import pathlib

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

REPORT = """E1123 04:50:35.551000 24582 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: -9) local_rank: 1 (pid: 25041) of binary: /usr/bin/python
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-11-23_04:50:35
  host      : node4
  rank      : 4 (local_rank: 0)
  exitcode  : -15 (pid: 25040)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 25040
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-23_04:50:35
  host      : node4
  rank      : 5 (local_rank: 1)
  exitcode  : -9 (pid: 25041)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 25041
============================================================
"""


def test_the_rank_that_was_killed_is_named(tmp_path: pathlib.Path) -> None:
    (tmp_path / "console.log").write_text(REPORT)
    verdict = judge(gather([tmp_path])).verdict
    assert verdict is not None
    assert (verdict.cls, str(verdict.ranks)) == ("oom-kill", "5")
