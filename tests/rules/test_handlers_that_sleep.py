"""A signal handler that sleeps, or whose thread stands beside others, took no lock."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

HANDLER = """\
Thread 2 (Thread 0x7fe0cbf3b6c0 (LWP 17664) "python"):
#0  0x00007fe0cd0ed545 in {} () from /lib/x86_64-linux-gnu/libc.so.6
#1  0x00007fe0cd0f1d8a in on_term (sig=15) at train.c:55
#2  <signal handler called>
#3  0x00007fe0cd1148fd in epoll_wait () from /lib/x86_64-linux-gnu/libc.so.6

Thread 1 (Thread 0x7fe0cc73c6c0 (LWP 17663) "python"):
#0  0x00007fe0cd0a3f16 in malloc () from /lib/x86_64-linux-gnu/libc.so.6
"""


@pytest.mark.parametrize("inner", ["clock_nanosleep", "__pause"])
def test_a_handler_that_sleeps_is_not_accused(inner: str, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "gdb.txt"
    file.write_text(HANDLER.format(inner))
    found = judge(gather([str(file)])).findings
    assert not [one for one in found if one.cls == "lock-order-deadlock" and one.rule != "like-known-cases"]
