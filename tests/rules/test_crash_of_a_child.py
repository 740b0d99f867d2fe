"""A crash that the system reports, of a process that a table shows dead and not collected."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty
from rankscope.pipeline import judge

# ruff: noqa: E501  (a row of a table is one line)
PARENT = 'Process 4410: python serve.py\n\nThread 4410 (idle): "MainThread"\n    readinto (socket.py:717)\n    collect (serve.py:44)\n'
ROWS = "    PID    PPID STAT     ELAPSED COMMAND\n   1402    1210 S       03:11:20 python3 -m pool.daemon\n   {pid}    1402 Z       01:40:02 [python3] <defunct>\n"
COREDUMP = "Jan 19 11:21:02 node4 systemd-coredump[1533]: Process 1489 (python3) of user 1001 dumped core.\n"
SEGFAULT = "[88123.120] python3[1489]: segfault at 8 ip 00007f21 sp 00007ffd error 4 in libjpeg.so[7f21]\n"


@pytest.mark.parametrize("crash", [COREDUMP, SEGFAULT], ids=["core", "kernel"])
@pytest.mark.parametrize(("pid", "likely"), [(1489, True), (1490, False)], ids=["it", "another"])
def test_a_crash_and_a_row_of_the_same_number_tell_of_one_child(
    crash: str, pid: int, likely: bool, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "py-spy dump.txt").write_text(PARENT)
    (tmp_path / "ps -eo pid,ppid,stat,etime,args.txt").write_text(ROWS.format(pid=pid))
    (tmp_path / "journal.txt").write_text(crash)
    found = [one for one in judge(gather([tmp_path])).findings if one.rule == "helper-gone"]
    said = any("crashed, and was not collected" in reason.text for one in found for reason in one.because)
    assert said is likely
    assert not likely or found[0].certainty is Certainty.LIKELY
