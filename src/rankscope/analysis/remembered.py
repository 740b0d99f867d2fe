"""What is found out about a case once and asked for by many."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

Held = TypeVar("Held")
Found = TypeVar("Found")


def remembered(find: Callable[[Held], Found]) -> Callable[[Held], Found]:
    """Let a function of one frozen record keep its answer with that record, for as long as the record lives."""
    key = f"_{find.__module__}.{find.__qualname__}"

    @functools.wraps(find)
    def known(held: Held) -> Found:
        if key not in held.__dict__:
            held.__dict__[key] = find(held)
        found: Found = held.__dict__[key]
        return found

    return known
