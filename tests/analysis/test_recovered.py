"""What the kernel says is gone and then is back."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.analysis.at_work import Well, nothing_but_recovered, well
from rankscope.formats.gather import gather
from rankscope.pipeline import case_of, judge

STEPS = "".join(f"2026-06-03 10:00:{8 + 9 * at:02d} step {100 + at} loss {3 - at / 10:.2f}\n" for at in range(5))
GONE = "[Wed Jun  3 02:14:09 2026] nfs: server filer1 not responding, still trying\n"
BACK = "[Wed Jun  3 02:14:31 2026] nfs: server filer1 OK\n"


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (GONE + BACK, Well.IS),
        (GONE, Well.UNKNOWN),
        (GONE + BACK + GONE, Well.UNKNOWN),
        (GONE + BACK.replace("filer1", "filer2"), Well.UNKNOWN),
    ],
)
def test_a_server_that_answers_again_is_no_trouble_where_steps_go_on(
    kernel: str, expected: Well, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "dmesg.txt").write_text(kernel)
    (tmp_path / "train.log").write_text(STEPS)
    assert well(case_of(gather([tmp_path]))) is expected


FLAP = (
    "[Tue Jun  2 {hour}:02:11 2026] mlx5_core 0000:a1:00.0 ens9: Link down\n"
    "[Tue Jun  2 {hour}:02:19 2026] mlx5_core 0000:a1:00.0 ens9: {end}\n"
)


@pytest.mark.parametrize(
    ("hour", "end", "found"),
    [("01", "Link up", False), ("01", "Link down", True), ("20", "Link up", True)],
)
def test_a_port_that_was_up_again_long_before_broke_nothing_now(
    hour: str, end: str, found: bool, tmp_path: pathlib.Path
) -> None:
    """Hours before, not minutes: what used it may not have come over it."""
    (tmp_path / "dmesg.txt").write_text(FLAP.format(hour=hour, end=end))
    stack = 'Thread {0} (idle): "MainThread"\n    {1} (torch/distributed/c10d.py:9)\n    step (loop.py:{0})\n'
    (tmp_path / "rank 0.txt").write_text(stack.format(4410, "all_gather_object"))
    (tmp_path / "rank 1.txt").write_text(stack.format(4411, "all_reduce"))
    (tmp_path / "train.log").write_text("2026-06-03 02:00:00 step 7 done, then nothing more, it hangs\n")
    classes = {finding.cls for finding in judge(gather([tmp_path])).findings}
    assert ("ib-transport-error" in classes) is found


LUSTRE = (
    "[ 9240.118243] LustreError: 11-0: work-OST0004-osc: operation ost_statfs: Connection to work-OST0004 was lost\n"
    "[ 9241.090217] Lustre: work-OST0004-osc: Connection {end} 10.4.0.14@tcp\n"
)


@pytest.mark.parametrize(
    ("kernel", "alone"),
    [
        (LUSTRE.format(end="restored to"), True),
        (LUSTRE.format(end="still lost to"), False),
        (LUSTRE.format(end="restored to") + "[ 9300.1] blk_update_request: I/O error, dev sda\n", False),
        ("[ 9240.1] eth0: link becomes ready\n", False),
    ],
    ids=["restored", "lost", "and an error", "nobody was gone"],
)
def test_a_log_of_what_came_back_alone(kernel: str, alone: bool, tmp_path: pathlib.Path) -> None:
    (tmp_path / "dmesg.txt").write_text(kernel)
    assert nothing_but_recovered(case_of(gather([tmp_path]))) is alone
