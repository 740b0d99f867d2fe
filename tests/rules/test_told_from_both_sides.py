"""What two sides of one wait tell in a few words: locks, ports, consoles, pools, imports, minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.faulthandler import read
from rankscope.formats.gather import gather
from rankscope.formats.records import Dump
from rankscope.model.diagnosis import Kind
from rankscope.pipeline import judge


def causes(folder: Path, **texts: str) -> set[str]:
    """The rules that name a cause."""
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return {one.rule for one in judge(gather([folder])).findings if one.kind is Kind.CAUSE}


@pytest.mark.parametrize("waits", ["blocks on", "stuck at", "stands in", "hangs on"])
def test_two_threads_and_two_locks(waits: str, tmp_path: Path) -> None:
    one = f"loop()\non_event()     holds _event_lock\nsend()         {waits} _queue_mutex\n"
    other = f"send()         holds _queue_mutex\n_register()    {waits} _event_lock\n"
    assert "locks-told" in causes(tmp_path, event_thread=one, sender=other)


def test_two_threads_and_one_lock(tmp_path: Path) -> None:
    one = "loop()\non_event()     holds _event_lock\ncompute()\n"
    assert "locks-told" not in causes(tmp_path, event_thread=one, sender="send()         blocks on _event_lock\n")


RULES = "iptables -I OUTPUT --dest 198.51.100.7 --dport 22 -j REJECT\n"


@pytest.mark.parametrize("said", ["the copy stands still, no message", "no message; after an hour it is still there"])
def test_a_firewall_that_was_set_during_a_run(said: str, tmp_path: Path) -> None:
    assert "packets-vanish" in causes(tmp_path, on_the_client=RULES, observed=said + "\n")


def test_a_firewall_of_a_run_that_goes_on(tmp_path: Path) -> None:
    assert "packets-vanish" not in causes(tmp_path, on_the_client=RULES, observed="the copy is through\n")


READS = """\
  File "pool/spawn.py", line 82, in _run
    func(*args)
  File "db/session.py", line 28, in touch
    ...
  File "db/patch.py", in wait_callback
    trampoline(conn.fileno(), read=True)
"""


@pytest.mark.parametrize(
    "said",
    [
        "the port is open, connections are accepted, the service does not answer",
        "a connection is made, and no answer comes",
        "connections are taken, nothing is sent",
    ],
)
def test_a_host_that_takes_connections_and_is_silent(said: str, tmp_path: Path) -> None:
    assert "packets-vanish" in causes(tmp_path, stack_of_the_keeper=READS, database_host=said + "\n")


def test_a_host_that_answers(tmp_path: Path) -> None:
    found = causes(
        tmp_path, stack_of_the_keeper=READS, database_host="the port is open, queries are answered in 2 ms\n"
    )
    assert "packets-vanish" not in found


def test_a_frame_whose_line_is_left_out() -> None:
    text = '  File "/srv/a.py", line 3 in inner\n  File "/srv/b.py", in outer\n'
    stack = [frame for one in read(text) if isinstance(one, Dump) for frame in one.thread.stack]
    assert [(frame.function, frame.line) for frame in stack] == [("outer", 0), ("inner", 3)]


def test_a_program_that_polls_its_ssh(tmp_path: Path) -> None:
    strace = "one poll after the other on the pipe from ssh, each ends with = 0 (Timeout)\n"
    assert "packets-vanish" in causes(tmp_path, strace=strace, observed="the restore hangs, no CPU used\n")


@pytest.mark.parametrize(
    "said",
    [
        "a key pressed in the console window: it goes on with the requests that were queued",
        "after Enter in the cmd window the service continues",
        "QuickEdit mode: a click into the window pauses it, right-click in the console and it resumes",
    ],
)
def test_a_console_that_holds_its_program(said: str, tmp_path: Path) -> None:
    shown = "Windows Server, started in cmd: python app.py\nafter some hours no request is answered\n"
    assert "stopped-from-outside" in causes(tmp_path, observed=shown + said + "\n")


def test_a_console_that_asks(tmp_path: Path) -> None:
    shown = "Windows, started in cmd: run.bat\nPress any key to continue\na key in the window, and it goes on\nno answer before\n"
    assert "stopped-from-outside" not in causes(tmp_path, observed=shown)


@pytest.mark.parametrize(
    "runs",
    [
        "Windows, 128 logical processors\nworkers = 0: hangs each time\nworkers = 60: ends normally\n",
        "on Windows n_jobs=72 hangs, n_jobs=48 works\n",
        "ValueError: need at most 63 handles, got a sequence of length 80\n",
    ],
)
def test_more_workers_than_windows_waits_for(runs: str, tmp_path: Path) -> None:
    assert "limit-reached" in causes(tmp_path, runs=runs)


@pytest.mark.parametrize(
    "runs",
    [
        "Linux, 128 logical processors\nworkers = 0: stands still each time\nworkers = 60: ends normally\n",
        "Windows, 16 processors\nworkers = 16 hangs, workers = 4 works\n",
    ],
)
def test_fewer_workers_or_another_system(runs: str, tmp_path: Path) -> None:
    assert "limit-reached" not in causes(tmp_path, runs=runs)


def test_a_watch_of_what_was_unmounted(tmp_path: Path) -> None:
    calls = "observer.schedule(handler, '/mnt/box')\numount /mnt/box\nobserver.unschedule(watch)    never returns\n"
    assert "known-defect" in causes(tmp_path, calls=calls, events="IN_UNMOUNT\nIN_IGNORED\n")
    assert "known-defect" not in causes(tmp_path, calls=calls, events="IN_DELETE_SELF\nIN_IGNORED\n")


WINDOWS = """\
import multiprocessing
from gi.repository import {what}
def bus():
    print(SessionBus())

multiprocessing.Process(target=bus).start()
"""


@pytest.mark.parametrize(("what", "expected"), [("Gtk", True), ("Gst, GObject", True), ("GObject", False)])
def test_an_import_that_starts_a_thread_before_a_fork(what: str, expected: bool, tmp_path: Path) -> None:
    found = causes(tmp_path, program=WINDOWS.format(what=what), console="(nothing more)\n")
    assert ("library-used-before-fork" in found) == expected


ENDED = """\
Exception in thread pool-worker-0:
Exception in thread pool-worker-1:
  File "pool/work.py", line 59, in worker
    task = q.get()
  File "queue.py", line 179, in get
    raise Empty
_queue.Empty
"""


@pytest.mark.parametrize(
    "state",
    [
        "no thread named pool-worker-* is alive; who asks hangs",
        "the pool is open; requests for a connection do not complete",
    ],
)
def test_threads_of_a_pool_that_ended(state: str, tmp_path: Path) -> None:
    assert "helper-gone" in causes(tmp_path, log=ENDED, state=state + "\n")


def test_threads_that_ended_when_all_was_done(tmp_path: Path) -> None:
    assert "helper-gone" not in causes(tmp_path, log=ENDED, state="the pool made new ones, and requests are served\n")


LATER = "Shuffling\nSaving checkpoint (10:01)\nSaving checkpoint (10:02)\nSaving checkpoint (10:03)\n"


@pytest.mark.parametrize("later", ["console,_afterwards", "console,_in_the_end", "console,_then"])
def test_what_came_in_the_first_minutes_and_later(later: str, tmp_path: Path) -> None:
    assert "only-slow" in causes(tmp_path, **{"console,_first_20_minutes": "Saving checkpoint ...\n", later: LATER})


def test_what_came_later_and_is_an_error(tmp_path: Path) -> None:
    texts = {"console,_first_20_minutes": "Saving checkpoint ...\n", "console,_then": LATER + "RuntimeError: broken\n"}
    assert "only-slow" not in causes(tmp_path, **texts)
