"""Whether evidence is of something that is wrong at all: who keeps stacks of a healthy server does not complain."""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re

from ..analysis.accounts import accounts, outlived
from ..analysis.case import Case
from ..analysis.papers import papers
from ..analysis.prints_missing import stops_before_a_print
from ._text import HALTS, events

_LONGEST = 1000  # of a longer line the rest is data
_COMPLAINT = re.compile(
    HALTS
    + r"|\bdoes (?:not|n't)\b|\bfail(?:s|ed)?\b|\b(?:100|0) ?% CPU|\bwrong\b|\bsame (?:frames|stacks?|picture)\b|Traceback \(most|"
    r"\bno longer\b|\b(?:killed|defunct|gone)\b|\bnot \w+ (?:without|with)\b|\b(?:prints?|printed) (?:only|nothing|no)\b|\bstands?\b(?=[.;,]|\s*$)|\bnothing\b|\bstill (?:reading|waiting|loading|stuck|in)\b|\bno (?:\w+ ){1,2}(?:prints?|output|progress)\b|\bno (?:error|output)\b|\bno (?:further|more|other|new) (?:lines?|output|logs?|messages?|steps?|tasks?|batch\w*|requests?)\b|\bnot (?:print|end|return|finish|answer)\w*|\bnever (?!been\b)\w+",
    re.I,
)
# What somebody only warns of, columns of tables, and what a system call returned.
_HARMLESS = re.compile(
    r"^(?:#\d+ +)?0x[0-9a-f]{6,} in .*|\b\w*time-?outs?=-?\d+|\b(?:failed|errors?|timeouts?|lost|killed)(?: \w+){0,3}\W{1,3}0\b|^.*\|\s*(?:Pass|OK|Skip)\b.*|\btest failed\. |"
    r"\bavoid(?:s|ing)? \w+|\b(?:can|may|might|could) (?:lead|result|cause|hang|be|happen)\b.*|\b1K-blocks|\) += -1 E[A-Z]+ .*|\bno \w+ detected\b",
    re.I,
)
# What programs print when they notice themselves that something does not go on.
_SAYS_SO = re.compile(
    r"No available shared memory broadcast block|[Ww]atchdog timeout|WORKER TIMEOUT|[Ss]talled (?:ranks|ops)|heartbeat timeout|blocked for more than \d+ seconds|soft lockup|Timed out waiting|^(?:\[?rank ?\d+\]?: ?)?[A-Z]\w*(?:Error|Exception): "
)
_GAVE_UP = (
    "torch.watchdog_timeout", "torch.heartbeat_timeout", "torch.heartbeat_stuck", "torch.dist_backend_error", "gloo.op_timeout",
    "gloo.full_mesh_failed", "gloo.connect_failed", "store.key_wait_timeout", "store.connect_timeout",
)  # fmt: skip


def complained(case: Case) -> bool:
    """Whether a person says that something is wrong, or a program that it gave up, and nothing goes on after it."""
    if any(_complains(one.label) or _COMPARED.search(one.label) for one in accounts(case)) or stops_before_a_print(
        case
    ):
        return True
    given_up = {event.text for event in events(case, *_GAVE_UP)}
    given_up |= {event.text for event in case.events if _SAYS_SO.search(event.text[:_LONGEST])}
    written = {line.strip() for one in accounts(case) for line in one.words.splitlines()}
    mentioned = papers(case)
    return any(
        (event.text in given_up or (event.text.strip() in written and _complains(event.text)))
        and event.file not in mentioned
        and not outlived(case, event)
        for event in case.events
    )


# Who tells how it went otherwise has a trouble.
_COMPARED = re.compile(
    r"\bother (?:runs?|experiments?|variants?|tests?)\b|\bvariations?\b|\bwhat was tried\b|^tried\b|\bablation\b", re.I
)


def _complains(text: str) -> bool:
    return _COMPLAINT.search(_HARMLESS.sub("", text[:_LONGEST])) is not None
