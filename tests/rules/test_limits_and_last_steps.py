# ruff: noqa: E501  (a line of a log is one line)
"""What a limit or the end of the work explains, of which other messages are only what follows."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge
from rankscope.rules.told import like_known_cases


def classes(folder: pathlib.Path, text: str) -> set[str]:
    """What rules find that know a mechanism."""
    (folder / "notes.txt").write_text(text)
    return {one.cls for one in judge(gather([folder]), 30.0).findings if one.rule != like_known_cases.RULE.id}


STOPS = (
    "raylet aborted (SIGABRT) while workers were started, tasks stay pending\nStopped only 0 out of 391 Ray processes\n"
)


@pytest.mark.parametrize(("limit", "sick"), [("1024", True), ("4096", True), ("1048576", False), ("65535", False)])
def test_few_files_for_very_many_workers_are_told(tmp_path: pathlib.Path, limit: str, sick: bool) -> None:
    """Each worker of Ray costs its daemon several descriptors."""
    assert ("resource-limit" in classes(tmp_path, f"{STOPS}ulimit -n\n{limit}\n")) is sick


STUCK = "[rank4]:[E205 18:11:06.375750231 ProcessGroupNCCL.cpp:1870] [PG ID 12 PG GUID 99(EP) Rank 4] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives.\n"


@pytest.mark.parametrize(
    ("when", "sick"),
    [("after the last step, the final checkpoint is there", True), ("behind the final save", True), ("in the first step", False)],
)  # fmt: skip
def test_watchdogs_that_stand_when_the_work_is_done(tmp_path: pathlib.Path, when: str, sick: bool) -> None:
    """Nothing is left to do but to take groups down."""
    assert ("exit-hang" in classes(tmp_path, f"{when}:\n{STUCK}")) is sick
