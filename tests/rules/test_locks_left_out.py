"""A command that was run with locks on files and without them."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Finding
from rankscope.pipeline import judge

LOCKED = "$ tool build --all\nOpening the store (nfs4 on /mnt/store): -\n"
FURTHER = "Opening the store (nfs4 on /mnt/store): done\nWriting 12 entries\n"


def found(folder: pathlib.Path, *consoles: str) -> Finding | None:
    for number, text in enumerate(consoles):
        (folder / f"console{number}.txt").write_text(text)
    return next((one for one in judge(gather([folder]), 30.0).findings if one.cls == "file-lock-unsupported"), None)


@pytest.mark.parametrize(
    "command",
    ["tool build --no-lock --all", "TOOL_FILE_LOCKING=FALSE tool build --all", "TOOL_NO_LOCKS=1 tool build --all"],
)
def test_a_command_that_comes_further_without_locks(tmp_path: pathlib.Path, command: str) -> None:
    """The first run stands in a line that the second one ends."""
    verdict = found(tmp_path, LOCKED, f"$ {command}\n{FURTHER}")
    assert verdict is not None
    assert verdict.compared


@pytest.mark.parametrize(
    "second",
    [
        "$ tool build --no-lock --all\nOpening the store (nfs4 on /mnt/store): |\n",
        f"$ tool build --fast --all\n{FURTHER}",
        f"$ tool other --no-lock\n{FURTHER}",
    ],
)
def test_one_that_comes_no_further_or_is_another_tells_nothing(tmp_path: pathlib.Path, second: str) -> None:
    """Locks are not what makes the difference."""
    verdict = found(tmp_path, LOCKED, second)
    assert verdict is None or not verdict.compared
