"""Who is at the end of its program while others wait in a collective has left before it; where all are, it does not end."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty, Kind
from rankscope.pipeline import judge

FRAMES = (
    "#0  0x00007f0000000001 in opal_progress () from libopen-pal.so.80\n"
    "#1  0x00007f0000000002 in {} () from libmpi.so.40\n"
    "#2  0x00007f0000000003 in {} () from libmpi.so.40\n"
    "#3  0x0000000000000566 in main (argc=1) at source/main.cpp:52\n"
)
REDUCES = FRAMES.format("ompi_coll_base_allreduce", "PMPI_Allreduce")
ENDS = FRAMES.format("ompi_mpi_finalize", "PMPI_Finalize")


@pytest.mark.parametrize(
    ("first", "cls", "ranks"),
    [(REDUCES, "collective-missed-by-rank", [17]), (ENDS, "exit-hang", [])],
    ids=["others wait", "all are at the end"],
)
def test_who_is_at_the_end_while_others_wait(first: str, cls: str, ranks: list[int], tmp_path: Path) -> None:
    for rank, frames in ((0, first), (17, ENDS)):
        (tmp_path / f"rank_{rank}.txt").write_text(frames)
    found = judge(gather([tmp_path]))
    assert found.verdict is not None
    assert found.verdict.cls == cls
    assert found.verdict.certainty is Certainty.LIKELY
    named = next(one for one in found.findings if one.kind is Kind.CAUSE)
    assert not ranks or list(named.ranks) == ranks
