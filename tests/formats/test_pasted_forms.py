# ruff: noqa: E501  (a line of a log is one line)
"""Stacks are read as well behind what launchers, the journal and collectors put before lines, and where a window cut them."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import pytest

from rankscope.formats.gather import gather
from rankscope.formats.wrapped import width_of
from rankscope.model.diagnosis import Diagnosis
from rankscope.pipeline import judge

DUMP = """Timeout (0:10:00)!
Thread 0x00007f3a1c2b1740 (most recent call first):
  File "/opt/conda/lib/python3.11/multiprocessing/connection.py", line 384 in _send
  File "/opt/conda/lib/python3.11/multiprocessing/queues.py", line 244 in _feed
  File "/opt/conda/lib/python3.11/threading.py", line 982 in run

Thread 0x00007f3a1c2b2740 (most recent call first):
  File "/opt/conda/lib/python3.11/multiprocessing/popen_fork.py", line 27 in poll
  File "/opt/conda/lib/python3.11/multiprocessing/popen_fork.py", line 43 in wait
  File "/opt/conda/lib/python3.11/multiprocessing/process.py", line 149 in join
  File "/job/train.py", line 88 in main
""".splitlines()
WATCHDOG = [
    f"[rank{rank}]:[E1124 14:11:24.183009389 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation timeout: "
    f"WorkNCCL(SeqNum={number}, OpType={op}, NumelIn={size}, NumelOut={size}, Timeout(ms)=600000) ran for 600012 milliseconds before timing out."
    for rank, number, op, size in ((3, 4190, "ALLREDUCE", 1048576), (0, 4190, "ALLREDUCE", 1048576), (1, 4190, "ALLREDUCE", 1048576), (2, 4188, "BROADCAST", 1))
]  # fmt: skip
BEFORE = {
    "SageMaker": "[1,mpirank:3,algo-1]<stderr>:", "a stream and a rank": "<stdout,3>: ", "journalctl -o short-full": "Tue 2026-11-24 14:11:24 UTC node18 python[4587]: ",
    "journalctl -o short-unix": "1764000000.123456 node18 python[4587]: ", "journalctl -o short-monotonic": "[ 8123.456789] node18 python[4587]: ",
    "logcli": '2026-11-24T14:11:24Z {pod="train-3", container="main"} ', "ts": "14:11:24 ", "a terminal's time": "[14:11:24] ", "foreman": "train | ", "Open MPI": "[node18:04587] ",
}  # fmt: skip
FORMS: dict[str, Callable[[list[str]], str]] = {
    "journalctl -o export": lambda lines: "".join(f"__CURSOR=s=ab\n__REALTIME_TIMESTAMP=1764000000123456\n_HOSTNAME=node18\n_PID=4587\nMESSAGE={line}\n\n" for line in lines),
    "journalctl -o verbose": lambda lines: "".join(f"Tue 2026-11-24 14:11:24.123456 UTC [s=ab;i=1]\n    PRIORITY=6\n    _PID=4587\n    MESSAGE={line}\n" for line in lines),
    "CloudWatch Insights": lambda lines: "@timestamp,@message\n" + "".join('2026-11-24 14:11:24.123,"{}"\n'.format(line.replace('"', '""')) for line in lines),
}  # fmt: skip


def judged(folder: pathlib.Path, text: str) -> Diagnosis:
    (folder / "saved.txt").write_text(text)
    return judge(gather([folder]))


def feeder_waits(found: Diagnosis) -> bool:
    return any(one.rule == "pipe-full" for one in found.findings) and found.verdict is not None and found.verdict.cls == "queue-pipe-full"  # fmt: skip


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
def test_what_stands_before_each_line_is_no_part_of_it(tmp_path: pathlib.Path, before: str) -> None:
    assert feeder_waits(judged(tmp_path, "".join(f"{before}{line}\n" for line in DUMP)))


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_entries_of_the_journal_and_tables_of_lines_are_opened(
    tmp_path: pathlib.Path, form: Callable[[list[str]], str]
) -> None:
    assert feeder_waits(judged(tmp_path, form(DUMP)))


def cut(lines: list[str], width: int) -> str:
    return "".join(f"{line[at : at + width]}\n" for line in lines for at in range(0, max(1, len(line)), width))


@pytest.mark.parametrize("width", [60, 80, 100, 132])
def test_lines_that_a_window_cut_are_put_together(tmp_path: pathlib.Path, width: int) -> None:
    verdict = judged(tmp_path, cut(WATCHDOG, width)).verdict
    assert verdict is not None
    assert (verdict.cls, str(verdict.ranks)) == ("collective-missed-by-rank", "2")


def test_stacks_as_well(tmp_path: pathlib.Path) -> None:
    assert feeder_waits(judged(tmp_path, cut(DUMP, 80)))


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-24 14:11:24 step {0:06d} loss 2.3{0:03d} lr 0.0001 tokens 1048576\nvalidation begins with batch {0}\n",
        "26106 25644 Ss   do_wait    03:{0:02d} 00:00:00  1.7 python /home/user/run/train.py\n",
        "| 0  NVIDIA A100   On | 00000000:{0:02d}:00.0 Off |            0 |  N/A  41C    P0  |\n",
    ],
)
def test_lines_of_one_length_are_no_cut_lines(line: str) -> None:
    assert width_of("".join(line.format(number) for number in range(10, 40))) == 0
