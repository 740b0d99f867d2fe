"""What subjects were doing, and by which way they came to it."""

from __future__ import annotations

from pathlib import Path

from rankscope.analysis.doings import doings, way
from rankscope.formats.gather import gather
from rankscope.pipeline import case_of

PROGRESS = "#0  0x2b8c in opal_progress () from libopen-pal.so.0\n"
GATHER = "#1  0xcb25 in ompi_request_default_wait () from libmpi.so.0\n#2  0xc8ee in PMPI_Gather () from libmpi.so.0\n"
FIT = "#3  0x4012 in fit () from libtrainer.so\n"


def test_what_a_call_does_below_itself_is_no_way_to_it(tmp_path: Path) -> None:
    (tmp_path / "rank0.txt").write_text(PROGRESS + GATHER + FIT)
    (tmp_path / "rank1.txt").write_text(GATHER + FIT)
    assert {way(doing) for doing in doings(case_of(gather([tmp_path])))} == {("fit", "PMPI_Gather")}
