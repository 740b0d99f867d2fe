"""A file about several processes is read as several subjects, whichever way it says so."""

from __future__ import annotations

import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.analysis.accounts import accounts
from rankscope.analysis.build import build
from rankscope.formats import text
from rankscope.formats.gather import gather
from rankscope.formats.lines import clean
from rankscope.formats.records import Dump
from rankscope.formats.subjects import Section, section_of
from rankscope.pipeline import judge

WAITS = (
    "    wait (threading.py:320)\n    all_reduce (torch/distributed/distributed_c10d.py:2800)\n    train (run.py:41)\n"
)
ASKS = "    poll (shards.py:12)\n    train (run.py:39)\n"
THREAD = 'Thread {} (idle): "MainThread"\n'


def process(pid: int, stack: str, rank: int | None = None) -> str:
    told = f"This is rank {rank} on n1\n" if rank is not None else ""
    return f"Process {pid}: python run.py\nPython v3.11.7 (/usr/bin/python3)\n{told}\n{THREAD.format(pid)}{stack}\n"


def heading(rank: str, stack: str) -> str:
    return f"{rank}\n```\n{THREAD.format('0x7F11')}{stack}```\n"


FILES = {
    "our own raw stacks": "".join(process(70 + rank, ASKS if rank == 2 else WAITS, rank) for rank in range(4)),
    "one heading per rank": "".join(heading(f"rank {rank}:", ASKS if rank == 2 else WAITS) for rank in range(4)),
    "tail of several files": "".join(
        heading(f"==> /tmp/stacks/rank{rank}.txt <==", ASKS if rank == 2 else WAITS) for rank in range(4)
    ),
    "Markdown headings": "".join(heading(f"### Rank {rank}", ASKS if rank == 2 else WAITS) for rank in range(4)),
    "rules of equal signs": "".join(heading(f"===== rank {rank} =====", ASKS if rank == 2 else WAITS) for rank in range(4)),
    "a heading for many": heading("Ranks 0-1,3 (main thread):", WAITS) + heading("Rank 2 stack trace:", ASKS),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FILES))
def test_the_rank_that_stands_apart_is_named(name: str, tmp_path: pathlib.Path) -> None:
    """However the ranks are told apart, rank 2 is the one that did not come."""
    (tmp_path / "stacks.txt").write_text(FILES[name])
    diagnosis = judge(gather([tmp_path]))
    assert diagnosis.verdict is not None
    assert (diagnosis.verdict.cls, str(diagnosis.verdict.ranks)) == ("rank-stuck-in-user-code", "2")


def test_dumps_without_ranks_are_told_apart_by_pid(tmp_path: pathlib.Path) -> None:
    """A list of pids is enough to see that not all stand in the same place."""
    (tmp_path / "f").write_text("".join(process(pid, ASKS if pid == 82 else WAITS) for pid in (80, 81, 82, 83)))
    diagnosis = judge(gather([tmp_path]))
    assert diagnosis.verdict is not None
    assert diagnosis.verdict.cls == "rank-stuck-in-user-code"
    assert [one.ref.pid for one in diagnosis.findings[0].processes] == [82]


def test_dumps_whose_headers_are_gone_are_told_apart_by_their_main_threads(tmp_path: pathlib.Path) -> None:
    (tmp_path / "f").write_text("".join(THREAD.format(pid) + (ASKS if pid == 82 else WAITS) for pid in (80, 81, 82)))
    assert len(accounts(build(gather([tmp_path])))) >= 3


def test_backtraces_of_gdb_that_run_together_are_told_apart(tmp_path: pathlib.Path) -> None:
    """Numbers of threads that begin again mean another process, whose number is that of its thread 1."""
    body = "".join(
        f"Thread 2 (Thread 0x7f1 (LWP {pid + 1})):\n#0  0x01 in poll () from /lib64/libc.so.6\n\n"
        f"Thread 1 (Thread 0x7f0 (LWP {pid})):\n#0  0x02 in {call} () from /lib64/libc.so.6\n\n"
        for pid, call in ((400, "read"), (500, "write"))
    )
    (tmp_path / "f").write_text(body)
    assert sorted(process.ref.pid for process in gather([tmp_path]).processes) == [400, 500]


def test_what_is_said_between_dumps_belongs_to_the_process_above() -> None:
    body = process(80, WAITS, 0) + "RuntimeError: lost\n" + process(81, ASKS, 1)
    said = [one for one in text.read(body) if not isinstance(one, Dump) and "lost" in one.text]
    assert said
    assert {one.pid for one in said} == {80}


@pytest.mark.parametrize("line", [
    "rank 3 is stuck in a barrier", "  rank      : 1 (local_rank: 1)", "Rank 2 finished step 4.", "rank: 5, step: 7",
    "we ran 8 ranks",
    "[rank1]: RuntimeError: lost", "Process finished with exit code 1",
])  # fmt: skip
def test_sentences_about_ranks_are_no_headings(line: str) -> None:
    before = Section()
    assert section_of(clean(1, line), before) is before


@given(st.text(max_size=300))
def test_any_line_is_a_heading_or_not(line: str) -> None:
    """No line of strangers breaks the reader, or opens a section that names nobody and nothing."""
    assert isinstance(section_of(clean(1, line), Section()), Section)
