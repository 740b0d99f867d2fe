"""What is found out of a text or a stack once, however often it comes: thousands of ranks say the same, and stand alike.

Only for functions of nothing but what they are given, whose answers nobody changes. Bounded, since the lines of a log go on; a
long line is data, and comes once.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, TypeVar, cast

from .evidence.stacks import Stack

Find = TypeVar("Find", bound=Callable[..., Any])

_LONGEST = 512  # letters of a text that is remembered
_TEXTS, _SEARCHES, _STACKS = 4096, 16384, 16384

# Lets a function of a stack keep its last answers.
of_stacks = functools.lru_cache(maxsize=4096)


def of_texts(find: Find) -> Find:
    """Let a function of a text, and of more that is short, keep its last answers."""
    known = functools.lru_cache(maxsize=_TEXTS)(find)

    @functools.wraps(find)
    def answer(text: str, *more: Any) -> Any:
        return known(text, *more) if len(text) <= _LONGEST else find(text, *more)

    return cast(Find, answer)


def found_in(text: str, pattern: re.Pattern[str]) -> bool:
    """Whether a pattern is found in a line."""
    return _found_in(text, pattern) if len(text) <= _LONGEST else pattern.search(text) is not None


@functools.lru_cache(maxsize=_SEARCHES)
def _found_in(text: str, pattern: re.Pattern[str]) -> bool:
    return pattern.search(text) is not None


@functools.lru_cache(maxsize=_STACKS)
def one_stack(stack: Stack) -> Stack:
    """One and the same of all stacks that are equal."""
    return stack
