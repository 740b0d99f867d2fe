"""Times of day as logs print them: seconds since midnight, by the clock that wrote them."""

from __future__ import annotations

import re

from ..model.patterns import regex

DAY_S = 24 * 60 * 60
CLOCK = regex(r"(?<![\d:.])(?P<h>[01]\d|2[0-3]):(?P<m>[0-5]\d):(?P<s>[0-5]\d)(?![\d:])")


def of_day(found: re.Match[str]) -> int:
    """The seconds of a time that a pattern found with its parts ``h``, ``m`` and ``s``."""
    return (int(found["h"]) * 60 + int(found["m"])) * 60 + int(found["s"])
