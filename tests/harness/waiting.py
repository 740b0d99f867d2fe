"""Waiting for a condition instead of sleeping and hoping."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class NeverHappened(AssertionError):
    """A condition did not come true in time."""


def wait_until(condition: Callable[[], T], within: float = 10.0, what: str = "the condition") -> T:
    """Ask until the answer is true, and give it; raise NeverHappened after ``within`` seconds."""
    end = time.monotonic() + within
    while not (answer := condition()):
        if time.monotonic() > end:
            raise NeverHappened(f"{what} did not come true within {within:g} s")
        time.sleep(0.02)
    return answer
