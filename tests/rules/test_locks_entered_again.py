"""A function of the standard library that holds a plain lock, entered again below itself: that is no full queue."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import case_of, judge
from rankscope.rules.told import lock_taken_twice

LIB = "/usr/lib/python3"
OUTER = f'  File "{LIB}/queue.py", line 151 in put\n  File "/job/spool.py", line 4 in add\n  File "/job/run.py", line 9 in main\n'
GONE = '  File "/job/spool.py", line 52 in forget\n'


def dump(*frames: str) -> str:
    return "Thread 0x00007f1ec6dfb000 (most recent call first):\n" + "".join(frames)


def frame(place: str, line: int, function: str) -> str:
    return f'  File "{LIB}/{place}", line {line} in {function}\n'


def found(text: str, tmp_path: Path) -> int:
    (tmp_path / "rank1.txt").write_text(text)
    return len(list(lock_taken_twice.check(case_of(gather([tmp_path])))))


def test_a_queue_put_into_by_what_the_collector_ran_in_its_put_is_no_full_queue(tmp_path: Path) -> None:
    (tmp_path / "rank1.txt").write_text(dump("  Garbage-collecting\n", frame("queue.py", 133, "put"), GONE, OUTER))
    verdict = judge(gather([tmp_path])).verdict
    assert verdict is not None
    assert (verdict.cls, verdict.certainty.name) == ("lock-order-deadlock", "LIKELY")


@pytest.mark.parametrize(
    "frames",
    [
        (frame("queue.py", 133, "put"), GONE, OUTER),
        (frame("threading.py", 267, "__enter__"), frame("queue.py", 171, "get"), GONE, OUTER),
        (frame("threading.py", 577, "set"), GONE, frame("threading.py", 580, "set"), GONE),
        (frame("concurrent/futures/thread.py", 161, "submit"), GONE, frame("concurrent/futures/thread.py", 176, "submit"), GONE),
    ],
    ids=["a handler of any name", "the lock's own frame", "an event", "an executor"],
)  # fmt: skip
def test_a_plain_lock_is_taken_twice(frames: tuple[str, ...], tmp_path: Path) -> None:
    assert found(dump(*frames), tmp_path) == 1


@pytest.mark.parametrize(
    "frames",
    [
        (frame("threading.py", 320, "wait"), frame("queue.py", 140, "put"), GONE, OUTER),
        (frame("queue.py", 133, "put"), GONE, frame("threading.py", 320, "wait"), frame("queue.py", 171, "get"), GONE),
        (frame("queue.py", 133, "put"), GONE, '  File "/job/spool.py", line 7 in _put\n', OUTER),
        (frame("queue.py", 133, "put"), GONE, '  File "/job/run.py", line 9 in main\n'),
    ],
    ids=["waits for room in another queue", "the outer one has let go", "its own _put uses another queue", "once"],
)
def test_who_has_the_lock_or_lets_it_go_is_not_in_a_deadlock(frames: tuple[str, ...], tmp_path: Path) -> None:
    assert found(dump(*frames), tmp_path) == 0
