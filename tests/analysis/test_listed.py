"""Stacks that somebody listed by hand, without a tool's headers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rankscope.analysis.listed import stacks_listed


def functions(text: str) -> list[list[str]]:
    return [[frame.function for frame in stack] for stack in stacks_listed(text.splitlines())]


def test_the_deepest_frame_may_stand_first() -> None:
    """As py-spy and gdb print it."""
    text = "acquire (threading.py)\nput (queue.py:140)\nsend (app/bus.py:9)"
    assert functions(text) == [["send", "put", "acquire"]]


def test_the_deepest_frame_may_stand_last() -> None:
    """As a traceback or somebody who tells a story prints it."""
    text = "send (app/bus.py)\nput (queue.py)\nacquire (threading.py)"
    assert functions(text) == [["send", "put", "acquire"]]


def test_native_frames_need_no_file() -> None:
    text = "#0 __lll_lock_wait ()\n#1 pthread_mutex_lock ()\n#2 Store::Get(key)  (holds cache_mutex_)"
    assert functions(text) == [["Store::Get", "pthread_mutex_lock", "__lll_lock_wait"]]


def test_sentences_are_no_stacks() -> None:
    assert functions("the job hangs\nafter step 12 (see log)\nread the docs (index.html)") == []
    assert functions("error\nabort\nmain") == []


def test_an_empty_line_ends_a_stack() -> None:
    text = "get (queue.py:1)\nrun (a.py:2)\n\njoin (threading.py:3)\nmain (a.py:9)"
    assert functions(text) == [["run", "get"], ["main", "join"]]


@given(st.lists(st.text(max_size=80), max_size=40))
def test_any_text_can_be_read(lines: list[str]) -> None:
    for stack in stacks_listed(lines):
        assert 2 <= len(stack) <= 512
