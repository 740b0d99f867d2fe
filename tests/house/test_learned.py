"""What was learned is of the known cases as they are."""

from __future__ import annotations

import pathlib
import subprocess
import sys

LEARN = pathlib.Path(__file__).resolve().parents[2] / "tools" / "learn.py"


def test_the_table_of_words_is_of_these_cases() -> None:
    """``make learn`` makes it anew."""
    done = subprocess.run([sys.executable, str(LEARN), "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
