"""Tables of names, lists of changes, and lines of the kernel that are days old."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.analysis.listings import are_notes, is_table
from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty, Diagnosis
from rankscope.pipeline import judge

ERRORS = [
    f"{number} {name}  Something"
    for number, name in enumerate(("EPERM", "EIO", "ENXIO", "ENOSPC", "EROFS", "EPIPE"), 1)
]
OLD = "[Mon Mar  3 02:11:20 2025] Memory cgroup out of memory: Killed process 4411 (python)"


def judged(folder: pathlib.Path, **texts: str) -> Diagnosis:
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return judge(gather([str(folder)]))


def of_memory(diagnosis: Diagnosis) -> list[Certainty]:
    return [one.certainty for one in diagnosis.findings if one.rule == "killed-for-memory"]


def test_a_table_gives_each_code_once() -> None:
    assert is_table(ERRORS)
    assert not is_table(ERRORS[:3])
    assert not is_table([*ERRORS, *ERRORS])


def test_what_has_a_time_or_a_process_is_no_row_of_a_table() -> None:
    assert not is_table([f"{number} ERROR  at 10:0{number} process 4711{number}" for number in range(1, 8)])


def test_subjects_of_commits_are_notes() -> None:
    assert are_notes([f"1d02b7{number} queue: mend the deadlock at the end" for number in range(5)])
    assert are_notes([f"- Fixed a hang number {number}" for number in range(5)])


def test_an_announcement_is_a_notice() -> None:
    assert are_notes(["Subject: [closed] storage was unreachable", "jobs sat in state D"])
    assert not are_notes(["Subject: my job hangs", "jobs sit in state D"])


@pytest.mark.parametrize(
    ("later", "certainty"),
    [("[Mon Mar  3 02:11:21 2025]", Certainty.LIKELY), ("[Mon Mar 24 02:11:21 2025]", Certainty.POSSIBLE)],
)
def test_a_line_of_the_kernel_from_weeks_before_is_only_a_possibility(
    tmp_path: pathlib.Path, later: str, certainty: Certainty
) -> None:
    assert of_memory(judged(tmp_path, dmesg=f"{OLD}\n{later} perf: interrupt took too long")) == [certainty]


@pytest.mark.parametrize(("later", "certainty"), [(4000, Certainty.LIKELY), (400000, Certainty.POSSIBLE)])
def test_so_is_one_that_only_has_seconds(tmp_path: pathlib.Path, later: int, certainty: Certainty) -> None:
    text = f"[ 3000.120000] Out of memory: Killed process 4411 (python)\n[{later}.120000] perf: interrupt took too long"
    assert of_memory(judged(tmp_path, dmesg=text)) == [certainty]


def test_a_runbook_names_what_may_happen(tmp_path: pathlib.Path) -> None:
    text = "Out of memory: Killed process 4411 (python)"
    assert of_memory(judged(tmp_path, RUNBOOK=text, told="the job hangs in step 4")) == [Certainty.POSSIBLE]
