"""The pages in docs/ and the words of patterns are what the code says."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]
DECISIONS = sorted((REPO / "docs" / "adr").glob("*.md"))


@pytest.mark.parametrize("tool", ["pages", "needles"])
def test_what_is_made_of_the_code_is_up_to_date(tool: str) -> None:
    """Whoever changes a rule or a command runs ``make docs``."""
    done = subprocess.run(
        [sys.executable, f"tools/{tool}.py", "--check"], cwd=REPO, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_has_its_number_and_four_parts(path: pathlib.Path) -> None:
    """Half a page is read, a lab book is not: what was measured on the way stays in the history."""
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith(f"# {int(path.name[:4])}. ")
    parts = [line for line in lines if line.startswith("## ")]
    assert parts == ["## Context", "## Decision", "## Consequences", "## Turned down"]
    assert len(lines) <= 70
