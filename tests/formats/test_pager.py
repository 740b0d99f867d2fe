"""A debugger's pager asks in the middle of a stack, and the stack goes on behind its question."""

from __future__ import annotations

import pytest

from rankscope.formats.records import Dump
from rankscope.formats.text import read

BEFORE = "Thread 4 (LWP 44):\n#0  sem_wait () at sem_wait.S:85\n#1  0x00007f01 in ?? () from libcuda.so.1\n"
AFTER = "#2  0x00007f02 in cuEventSynchronize () from libcuda.so.1\n"


@pytest.mark.parametrize(
    "question",
    [
        "---Type <return> to continue, or q <return> to quit---\n",
        "---Type <return> to continue, or q <return> to quit---",
        "--Type <RET> for more, q to quit, c to continue without paging--\n",
    ],
)
def test_a_stack_goes_on_behind_the_pagers_question(question: str) -> None:
    """On a line of its own, or glued to the next frame."""
    (dump,) = (one for one in read(BEFORE + question + AFTER) if isinstance(one, Dump))
    assert [frame.function for frame in dump.thread.stack] == ["cuEventSynchronize", "??", "sem_wait"]
