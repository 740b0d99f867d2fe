"""Regular expressions that are compiled when they are first used.

There are some 900 in what reads and judges, compiling them takes a fifth of a second, and of one job few are asked for.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class Late:
    """What ``re`` makes of a pattern, as soon as anything but its text is asked for."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern: Any = pattern
        self._given = flags

    def __getattr__(self, name: str) -> Any:
        # What was asked for once is an attribute, so that a loop over lines pays for this way once.
        value = getattr(re.compile(self.pattern, self._given), name)
        setattr(self, name, value)
        return value


def regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern, its errors told at its first use: a test of the house uses each of them."""
    return cast("re.Pattern[AnyStr]", Late(pattern, flags))
