"""Whether a program that somebody pasted stopped before a line that it prints: the code has it, its output does not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from .case import Case

_LONGEST = 400  # lines; more are a log
_PRINT = re.compile(r"\bprint\(\s*(?P<f>[rf]{0,2})(?P<quote>[\"'])(?P<text>(?:(?!(?P=quote)).){4,80})(?P=quote)")
_HOLE = re.compile(r"\{[^{}]*\}|%[-\d.]*[sdfr]|\\\\n")


def stops_before_a_print(case: Case) -> bool:
    """Whether some of what the code prints came out, and something further down did not."""
    lines = [event.text for event in case.events if event.event == "text.line"]
    if not lines or len(lines) > _LONGEST:
        return False
    wanted = list(_printed(lines))
    output = [line.strip() for line in lines if _PRINT.search(line) is None]
    came = Counter(text for text in set(wanted) for line in output if re.match(text, line))
    needed = Counter(wanted)
    missing = [number for number, text in enumerate(wanted) if came[text] < needed[text]]
    return bool(came) and bool(missing) and max(missing) > min(n for n, text in enumerate(wanted) if came[text])


def _printed(lines: list[str]) -> Iterator[str]:
    """Patterns of the lines that code prints, in order."""
    for line in lines:
        for found in _PRINT.finditer(line):
            pieces = [re.escape(piece) for piece in _HOLE.split(found["text"])]
            if any(len(piece) > 3 for piece in pieces):
                yield ".{0,80}?".join(pieces)
