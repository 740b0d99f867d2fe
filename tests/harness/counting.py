"""Counts what Python does, so that a test can tell work that grows with the square of its size from work that does not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps(do: Callable[[], object]) -> int:
    """How many instructions of Python a call takes; no clock is asked."""
    taken = 0

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal taken
        frame.f_trace_lines, frame.f_trace_opcodes = False, True  # a comprehension is one line, however long it runs
        taken += event == "opcode"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        do()
    finally:
        sys.settrace(before)
    return taken


def grows_evenly(at: Callable[[int], Callable[[], object]], size: int) -> bool:
    """Whether twice the size takes some twice the steps, where ``at`` prepares the work of a size. What is loaded or learned the
    first time does not count."""
    at(2 * size)()
    return steps(at(2 * size)) < 3 * steps(at(size))
