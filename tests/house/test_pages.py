"""The pages in docs/ are what the code says."""

from __future__ import annotations

import pathlib
import subprocess
import sys

REPO = pathlib.Path(__file__).resolve().parents[2]


def test_pages_are_up_to_date() -> None:
    """Whoever changes a rule or a command runs ``make docs``."""
    done = subprocess.run(
        [sys.executable, "tools/pages.py", "--check"], cwd=REPO, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
