"""What a program fears of itself is no trouble where it is said to do its work, or where its watch shows only itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Diagnosis
from rankscope.pipeline import judge

FORKS = """\
/usr/lib/python3.13/multiprocessing/popen_fork.py:67: DeprecationWarning: This process (pid=812) is multi-threaded, use of \
fork() may lead to deadlocks in the child.
  self.pid = os.fork()
"""
WATCH = """\
2021-03-02T11:05:44Z : Greenlet <Greenlet at 0x7f00a1b2c3d0: serve> appears to be blocked
    Reported by <gevent.__tracer.GreenletTracer object at 0x7f00a1b2c550>
Blocked Stack (for thread id 0x7f00a9b3c700):
"""
OWN = """\
  File "/opt/env/lib/python3.9/site-packages/gevent/_monitor.py", line 181, in __call__
    thread_sleep(sleep_time)
"""
QUERY = """\
  File "/srv/app/views.py", line 40, in index
    rows = db.query(QUERY)
"""


def judged(folder: Path, **texts: str) -> Diagnosis:
    """What is said of these files, whose names are as people head what they paste."""
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return judge(gather([folder]))


@pytest.mark.parametrize(
    "said",
    [
        "the lines keep coming; the daemon does its work, nobody has seen it stand still",
        "Uploads run as before. No hang was ever observed so far.",
        "it works fine, no one ever noticed a deadlock",
    ],
)
def test_a_warning_of_a_program_that_does_its_work(said: str, tmp_path: Path) -> None:
    assert judged(tmp_path, log=FORKS, observed=said + "\n").verdict is None


@pytest.mark.parametrize(
    "said",
    [
        "with spawn the pool works fine, nobody has seen it hang there; with fork it hangs each night",
        "the daemon does its work until the third upload, then its child hangs",
        "no hang was observed with one thread; with four the children never return",
    ],
)
def test_a_standstill_that_is_told(said: str, tmp_path: Path) -> None:
    assert judged(tmp_path, log=FORKS, observed=said + "\n").verdict is not None


def test_a_watch_that_shows_only_its_own_pause(tmp_path: Path) -> None:
    assert judged(tmp_path, log=WATCH + OWN + "Info:\n").verdict is None


def test_a_watch_that_shows_a_query(tmp_path: Path) -> None:
    shown = judged(tmp_path, log=WATCH + OWN + "Info:\n" + WATCH + QUERY + "Info:\n", load="the site hangs\n")
    assert shown.verdict is not None
