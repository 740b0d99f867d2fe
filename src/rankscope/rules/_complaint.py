"""Whether evidence is of something that is wrong at all: who keeps stacks of a healthy server does not complain."""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re

from ..analysis.accounts import accounts, outlived
from ..analysis.case import Case
from ._text import HALTS, events

_LONGEST = 1000  # of a longer line the rest is data
_COMPLAINT = re.compile(
    HALTS
    + r"|\bdoes (?:not|n't)\b|\bfail(?:s|ed)?\b|\b(?:100|0) ?% CPU|\bwrong\b|\bsame (?:frames|stacks?|picture)\b|Traceback \(most|No available shared memory broadcast block|"
    r"\bno longer\b|\b(?:killed|defunct|gone)\b|\bnot \w+ (?:without|with)\b|\b(?:prints?|printed) (?:only|nothing|no)\b|\bnothing\b|\bnever (?!been\b)\w+",
    re.I,
)
# What somebody only warns of, columns of tables, and what a system call returned.
_HARMLESS = re.compile(
    r"\bavoid(?:s|ing)? \w+|\b(?:can|may|might|could) (?:lead|result|cause|hang|be|happen)\b.*|\b1K-blocks|\) += -1 E[A-Z]+ .*|\bno \w+ detected\b",
    re.I,
)
_GAVE_UP = (
    "torch.watchdog_timeout", "torch.heartbeat_timeout", "torch.heartbeat_stuck", "torch.dist_backend_error", "gloo.op_timeout",
    "gloo.full_mesh_failed", "gloo.connect_failed", "store.key_wait_timeout", "store.connect_timeout",
)  # fmt: skip


def complained(case: Case) -> bool:
    """Whether a person says that something is wrong, or a program that it gave up, and nothing goes on after it."""
    if any(_complains(one.label) for one in accounts(case)):
        return True
    given_up = {event.text for event in events(case, *_GAVE_UP)}
    written = {line.strip() for one in accounts(case) for line in one.words.splitlines()}
    return any(
        (event.text in given_up or (event.text.strip() in written and _complains(event.text)))
        and not outlived(case, event)
        for event in case.events
    )


def _complains(text: str) -> bool:
    return _COMPLAINT.search(_HARMLESS.sub("", text[:_LONGEST])) is not None
