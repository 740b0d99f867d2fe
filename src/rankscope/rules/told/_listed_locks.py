"""Listings of a program's source: the lines that take a lock, and those inside its block."""

from __future__ import annotations

import re

from ...analysis.accounts import Account
from ...model.evidence.events import Event
from ...model.evidence.stacks import Frame
from ...model.patterns import regex

TAKES_LOCK = regex(
    r"^[^\S\n]*(?:async )?with (?P<name>[\w.]*(?:lock|mutex|_cv|cond|guard|phil)\w*)(?:\(\))?:|"
    r"^[^\S\n]*(?:if not )?(?P<call>[\w.]*(?:lock|mutex|guard)\w*)\.acquire\(",
    re.I,
)
_LISTED = regex(r"^[^\S\n]*(?P<number>\d{1,6})[:|]?(?P<indent>[ \t]+)(?P<code>\S.*)$")
LINES = 400


def is_of(label: str, frame: Frame) -> bool:
    """Whether a listing can be of a frame's file: it names that file, or none."""
    named = _SOURCE.findall(label)
    return not named or frame.file.rsplit("/", 1)[-1] in named


def is_named(label: str) -> bool:
    """Whether a listing's heading names the file."""
    return _SOURCE.search(label) is not None


_SOURCE = regex(r"[\w-]+\.pyx?\b")


def blocks_in(account: Account) -> list[tuple[str, int, range]]:
    """The locks of a listing: name, the line that takes it, and the lines inside its block."""
    rows = _numbered(account.events[:LINES]) or _counted(account)
    blocks = []
    for at, (number, depth, code) in enumerate(rows):
        found = TAKES_LOCK.match(code)
        if found is not None:
            last = number
            for later, deep, _ in rows[at + 1 :]:
                if deep <= depth:
                    break
                last = later
            blocks.append((found["name"] or found["call"], number, range(number + 1, last + 1)))
    return blocks


def _numbered(events: tuple[Event, ...]) -> list[tuple[int, int, str]]:
    """The lines of a listing that has numbers: number, depth, code."""
    found = (_LISTED.match(event.text) for event in events)
    return [(int(one["number"]), len(one["indent"].expandtabs(8)), one["code"]) for one in found if one]


def _counted(account: Account) -> list[tuple[int, int, str]]:
    """The same of a listing whose heading tells which lines it has."""
    asked = _RANGE.search(account.label)
    first = int(asked["first"]) if asked else 0
    lines = [event for event in account.events[:LINES] if event.event in ("text.line", "text.source")] if asked else []
    rows = [(first + event.line - 1, event.text.expandtabs(8)) for event in lines]
    return [(number, len(text) - len(text.lstrip()), text.strip()) for number, text in rows if text.strip()]


# As sed prints a piece of a file, and nothing else of it.
_RANGE = regex(r"\bsed -n\W{1,4}(?P<first>\d{1,6}),\d{1,6}\W{0,2}p\b")
