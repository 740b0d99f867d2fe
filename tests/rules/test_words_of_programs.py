"""What a dump shows of a program's own text, variables and source lines, was said by nobody."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Diagnosis
from rankscope.pipeline import judge

# As the tools wrote of one program that counts; its words are those of other troubles.
PYSPY = """\
Process 4101: python work.py
Python v3.11.7 (/usr/bin/python3.11)

Thread 4101 (active+gil): "MainThread"
    get (work.py:12)
        Arguments:
            self: <Cache at 0x7f32bd7a7110>
            k: 1
        Locals:
            reason: "ERROR: Lock already held by rank 3; waiting for lock /tmp/x.lock"
            name: "rank 2 never entered all_reduce, watchdog timeout, NCCL error"
    main (work.py:15)
        Locals:
            note: "a finalizer (__del__) takes the lock that it holds"
    <module> (work.py:16)
"""
PYSTACK = """\
Traceback for thread 4101 (python) [Has the GIL] (most recent call last):
    (Python) File "/tmp/work.py", line 16, in <module>
        main()
    (Python) File "/tmp/work.py", line 15, in main
        c.get(1)  # waiting for lock /tmp/x.lock, a __del__ takes the lock
      Locals:
        note: "a finalizer (__del__) takes the lock that it holds"
    (Python) File "/tmp/work.py", line 12, in get
        t += 1  # CUDA out of memory: killed by signal 9
      Locals:
        reason: "ERROR: Lock already held by rank 3; waiting for lock /tmp/x.lock"
"""
GDB = """\
Thread 1 (Thread 0x7f32be1f5b80 (LWP 4101) "python"):
#0  long_add (a=0x7f32bd7bbfc0, b=0x7f32bd7bbfc8) at Objects/longobject.c:3165
        reason = "ERROR: Lock already held by rank 3; waiting for lock /tmp/x.lock"
No locals.
#1  0x00007f32bde50a40 in main () at work.c:15
        note = "a finalizer (__del__) takes the lock that it holds"
"""
PY_BT = """\
Thread 1 (Thread 0x7f32be1f5b80 (LWP 4101) "python"):
Traceback (most recent call first):
  File "/tmp/work.py", line 12, in get
    t += 1  # ERROR: Lock already held by rank 3; waiting for lock /tmp/x.lock
  File "/tmp/work.py", line 16, in <module>
    main()  # a finalizer (__del__) takes the lock that it holds
"""


def _judged(tmp_path: pathlib.Path, text: str) -> Diagnosis:
    (tmp_path / "dump.txt").write_text(text)
    return judge(gather([tmp_path]))


def _told(found: Diagnosis) -> set[str]:
    return {one.rule for one in found.findings if one.rule != "like-known-cases"}


@pytest.mark.parametrize("text", [PYSPY, PYSTACK, GDB, PY_BT], ids=["py-spy", "pystack", "gdb bt full", "py-bt"])
def test_values_and_source_lines_are_no_words_of_a_log(tmp_path: pathlib.Path, text: str) -> None:
    assert _told(_judged(tmp_path, text)) == set()


def test_the_same_words_are_heard_where_a_log_says_them(tmp_path: pathlib.Path) -> None:
    said = PYSPY + "\nERROR: Lock already held by rank 3; waiting for lock /tmp/x.lock\n"
    assert "lock-file-left-behind" in _told(_judged(tmp_path, said))
