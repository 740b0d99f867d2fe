"""What was learned is of the known cases as they are, and is judged by threads that it was not learned from."""

from __future__ import annotations

import importlib.util
import pathlib
import subprocess
import sys

from harness.known_cases import KnownCase

LEARN = pathlib.Path(__file__).resolve().parents[2] / "tools" / "learn.py"


def test_the_table_of_words_is_of_these_cases() -> None:
    """``make learn`` makes it anew."""
    done = subprocess.run([sys.executable, str(LEARN), "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_cases_of_one_thread_are_left_out_together() -> None:
    spec = importlib.util.spec_from_file_location("learn", LEARN)
    assert spec is not None
    assert spec.loader is not None
    learn = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(learn)
    threads: list[tuple[str, ...]] = [("a",), ("b",), (), ("A#1", "b"), (), ("c",)]
    cases = [KnownCase(pathlib.Path(), "oom-kill", (), links, ()) for links in threads]
    first, second, none, both, none_either, other = learn.together(cases)
    assert first == second == both
    assert len({first, none, none_either, other}) == 4
