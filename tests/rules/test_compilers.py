"""Who waits for a compiler helper is named, where the evidence says who it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

DUMP = """Thread 7 (idle): "MainThread"
    wait (threading.py:355)
    result (concurrent/futures/_base.py:451)
    _wait_futures (torch/_inductor/async_compile.py:602)
    compile_all (train.py:36)
"""


@pytest.mark.parametrize(
    ("names", "begins"),
    [
        (["rank3.txt"], "rank 3 waits for a compiler helper"),
        (["rank3.txt", "rank4.txt"], "ranks 3-4 wait for a compiler helper"),
        (["dump.txt"], "a compiler helper is stuck or gone"),
    ],
)
def test_who_waits_for_a_compiler_helper_is_named(names: list[str], begins: str, tmp_path: Path) -> None:
    for name in names:
        (tmp_path / name).write_text(DUMP)
    found = judge(gather([tmp_path])).verdict
    assert found is not None
    assert (found.cls, found.title[: len(begins)]) == ("compile-worker", begins)
