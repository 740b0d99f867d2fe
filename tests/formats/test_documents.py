"""Sources, manuals and change logs that lie beside the evidence say nothing of the job."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from rankscope.formats.documents import LONG
from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty, Kind
from rankscope.pipeline import judge

STDLIB = Path(sysconfig.get_path("stdlib"))
SOURCES = sorted(path for path in STDLIB.glob("*.py") if 2000 < path.stat().st_size < 60000)[::3]

CHANGES = [f"* Fix {number}: a worker hangs at exit when its queue is full, ENOSPC is told" for number in range(LONG)]
CONSOLE = [f"step {number} loss 0.{number:03}" for number in range(LONG)]
FULL = "OSError: [Errno 28] No space left on device: 'checkpoint.pt'"


def _verdict(folder: Path, lines: list[str]) -> str | None:
    (folder / "notes.txt").write_text("\n".join(lines))
    verdict = judge(gather([folder])).verdict
    return verdict.cls if verdict else None


def test_a_change_log_is_left_out_and_said_so(tmp_path: Path) -> None:
    assert _verdict(tmp_path, [*CHANGES, FULL]) is None
    assert ["manual" in gap.detail for gap in gather([tmp_path]).gaps] == [True]


def test_a_console_of_the_same_length_is_evidence(tmp_path: Path) -> None:
    assert _verdict(tmp_path, [*CONSOLE, FULL]) == "storage-full"
    assert not gather([tmp_path]).gaps


def test_a_short_report_is_evidence(tmp_path: Path) -> None:
    assert _verdict(tmp_path, ["It stops when it saves:", FULL]) == "storage-full"


@pytest.mark.parametrize("heading", ["# node 0: 10.30.112.212", "# nslookup head.example 100.64.0.10"])
def test_an_address_in_a_heading_is_no_release(heading: str, tmp_path: Path) -> None:
    """A note about a host, or what root typed, is no change log."""
    assert _verdict(tmp_path, [heading, "It stops when it saves:", FULL]) == "storage-full"


@pytest.mark.parametrize(
    "head",
    [
        "USER       PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND",
        "UID        PID  PPID  C STIME TTY          TIME CMD",
        "    PID   TID STAT WCHAN                            COMMAND",
    ],
)
def test_a_long_table_of_processes_is_evidence(head: str, tmp_path: Path) -> None:
    """It has neither time stamps nor steps, and is none the less what was seen."""
    (tmp_path / "ps.txt").write_text(
        "\n".join([head, *(f"root {pid} 1 0 S [kworker/{pid};]" for pid in range(2 * LONG))])
    )
    assert not gather([tmp_path]).gaps


def test_a_source_with_few_marks_of_running_is_left_out(tmp_path: Path) -> None:
    source = [f"def save_{n}(rank):\n    return {n} if rank else None" for n in range(LONG)]
    assert _verdict(tmp_path, [*source, *CONSOLE[:9], "    # " + FULL]) is None


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_source_of_the_standard_library_has_a_cause(path: Path) -> None:
    causes = [finding for finding in judge(gather([path])).findings if finding.kind is Kind.CAUSE]
    assert [(one.rule, one.because) for one in causes if one.certainty is not Certainty.POSSIBLE] == []


def test_lines_of_a_program_without_times_or_steps_are_evidence(tmp_path: Path) -> None:
    """A log needs no time stamps to be one: only sentences and sources are documents."""
    assert (
        _verdict(tmp_path, [f"training loss: 0.{number} lr 1e-4" for number in range(2 * LONG)] + [FULL])
        == "storage-full"
    )
    assert not gather([tmp_path]).gaps


def test_calls_that_strace_saw_are_evidence(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("futex(0x7f01, FUTEX_WAIT_PRIVATE, 0, NULL) = 0\n" * 2 * LONG)
    assert not gather([tmp_path]).gaps
