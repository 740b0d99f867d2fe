"""A program stopped before a line that it prints when its code has that line and its output does not."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.analysis.prints_missing import stops_before_a_print
from rankscope.formats.gather import gather
from rankscope.formats.live_log import with_events
from rankscope.pipeline import case_of

CODE = """
print("first loader")
for batch in loader:
    break
print(f"rank {rank} is ready")
again = make_loader(workers=2)
print('second loader is done')
"""


@pytest.mark.parametrize(
    ("output", "stops"),
    [
        ("first loader\nrank 0 is ready\n", True),  # the last line is missing
        ("first loader\nrank 0 is ready\nsecond loader is done\n", False),  # nothing is
        ("second loader is done\n", False),  # what comes first may be cut off
        ("something else\n", False),  # no output of this code
        ("", False),  # none at all
    ],
)
def test_a_missing_line_tells_where_it_stopped(output: str, stops: bool, tmp_path: pathlib.Path) -> None:
    (tmp_path / "00_script.txt").write_text(CODE)
    (tmp_path / "01_console.txt").write_text(output or "\n")
    assert stops_before_a_print(case_of(with_events(gather([tmp_path])))) is stops


def test_the_same_line_is_needed_as_often_as_the_code_has_it(tmp_path: pathlib.Path) -> None:
    (tmp_path / "00_script.txt").write_text('print("one more round")\nrun()\nprint("one more round")\n')
    (tmp_path / "01_console.txt").write_text("one more round\n")
    assert stops_before_a_print(case_of(with_events(gather([tmp_path]))))
