"""Who has counted itself at the barrier of the store, and whether all came later: by torch's own lines (distributed_c10d.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import case_of
from rankscope.rules.told import rank_not_at_meeting

KEY = "store_based_barrier_key:{}"
WAITS = (
    "INFO Waiting in store based barrier to initialize process group for rank: 2, "
    f"key: {KEY} (world_size=4, worker_count=3, timeout=0:30:00)\n"
)
MET = f"INFO Rank 2: Completed store-based barrier for key:{KEY} with 4 nodes.\n"
FIRST, SECOND = 1, 2


@pytest.mark.parametrize(
    ("logs", "titles"),
    [
        pytest.param([WAITS.format(FIRST)], ["only 3 of 4 arrived"], id="sick"),
        pytest.param([WAITS.format(FIRST) + MET.format(FIRST)], [], id="then all came"),
        pytest.param([WAITS.format(FIRST), MET.format(FIRST)], [], id="another rank tells that all came"),
        pytest.param([WAITS.format(FIRST) + MET.format(SECOND)], ["only 3 of 4 arrived"], id="another barrier was met"),
        pytest.param([MET.format(FIRST) + WAITS.format(FIRST)], ["only 3 of 4 arrived"], id="it waits anew after one"),
    ],
)
def test_a_barrier_that_was_met_is_no_wait(logs: list[str], titles: list[str], tmp_path: Path) -> None:
    for rank, text in enumerate(logs):
        (tmp_path / f"rank{rank}.log").write_text(text)
    assert [one.title for one in rank_not_at_meeting.check(case_of(gather([tmp_path])))] == titles
