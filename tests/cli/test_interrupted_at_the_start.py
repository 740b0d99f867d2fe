"""Ctrl-C while the modules of a command are loaded ends it without a traceback, and is taken up again after that."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

START = "from rankscope.cli._start import main; main()"
# Ctrl-C at the moment at which a module is looked for.
PRESSED = """
import os, signal, sys
class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Pressed())
sys.argv[1:] = ["explain", "--help"]
"""


def run(module: str, before: str = "") -> subprocess.CompletedProcess[str]:
    script = PRESSED.format(module=module) + before + START
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("module", ["rankscope.cli.main", "rankscope.errors", "rankscope.cli._exit"])
def test_while_modules_load_it_ends_by_the_signal_and_says_nothing(module: str) -> None:
    done = run(module)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_later_it_is_told() -> None:
    """What a command needs is loaded when it is asked for."""
    done = run("rankscope.cli._group")
    assert (done.returncode, done.stderr.strip()) == (130, "rankscope: interrupted")


def test_one_that_is_ignored_stays_ignored() -> None:
    """A shell without job control has its background commands ignore it."""
    done = run("rankscope.cli.main", before="signal.signal(signal.SIGINT, signal.SIG_IGN)\n")
    assert (done.returncode, done.stderr) == (0, "")
