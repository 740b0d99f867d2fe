"""The pages in docs/ and the words of patterns are what the code says."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("tool", ["pages", "needles"])
def test_what_is_made_of_the_code_is_up_to_date(tool: str) -> None:
    """Whoever changes a rule or a command runs ``make docs``."""
    done = subprocess.run(
        [sys.executable, f"tools/{tool}.py", "--check"], cwd=REPO, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
