"""One process has a lock and waits for all the others, and the others wait for the lock.

## What it means
Each process of a job first takes a lock (of a step, a cache entry, a run), so that the work is done once. The one that gets it starts the work, which
begins with a meeting of all (`jax.distributed.initialize`, `init_process_group`, a barrier); the others try for the lock again and again, and never come to it.

## How it is recognised
One process or task says that it has a lock, others say that they did not get it and try again. It is *likely* where the one that has it stands in a meeting, or waits for as
many processes as there are. Without that it is *possible*, and only of a job of several hosts or processes that is said not to start.

## What to do
Take the lock in one process and tell the others (a broadcast after the meeting), or once for each group of processes that start together.

## How to prevent it
Nothing that keeps a process of a gang from its first meeting: locks, claims of work and checks of a cache come after it. Mechanism: https://github.com/marin-community/marin/issues/7080
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...analysis.account import Account
from ...analysis.accounts import accounts, line_at
from ...analysis.case import Case
from ...model.diagnosis import Finding
from ...model.patterns import regex
from .. import make_rule
from ._findings import simple
from ._signs import LIKELY, POSSIBLE
from ._wordings import HALTS

_STEPS = ("take the lock in one process, after the meeting, and broadcast what came of it",)
_LOCK = r"(?:the |its |a )?(?:[\w-]{1,30} ){0,2}?(?:lock|lease|claim)\b"
_NAMED = r"(?: (?:for|on|of) (?P<name>[\w./<>:@-]{1,200}))?"
_HAS = regex(rf"\b(?:acquired|obtained|got|won|took|holds|owns|has taken) {_LOCK}{_NAMED}", re.IGNORECASE)
_HAS_NOT = regex(
    rf"\b(?:lost {_LOCK}(?: race)?|lost the race for {_LOCK}|{_LOCK} (?:is )?(?:held|taken|owned) by (?:another|some other) \w{{1,20}}|"
    rf"(?:could not|cannot|can't|failed to|unable to) (?:acquire|get|take|obtain) {_LOCK}){_NAMED}"
    r"(?=[^\n]{0,200}\b(?:retr(?:y|ies|ying)|tr(?:y|ies|ying) again|again|waits?|waiting|back(?:s|ing) off)\b)",
    re.IGNORECASE,
)
# A call to which all have to come, or a wait for so many.
_MEETS = (
    r"\b(?:jax\.)?distributed\.initialize|\binit_process_group|\bhvd\.init\b|\bMPI_Init|\bcreate_communicator|\brendezvous|"
    r"\bbarrier\b|\bwait(?:s|ing)? for (?:all )?(?:the )?(?:other )?(?:\d{1,9} )?(?:\w{1,20} )?(?:processes|ranks|hosts|workers|tasks|members)\b"
)
# A job of several, that does not begin.
_GANG = (
    r"\b(?:two|three|four|several|many|multiple|all|every|each|[2-9]|\d{2,5}) (?:of the )?(?:hosts?|nodes?|processes|process|tasks?|workers?|ranks?)\b|"
    r"\bmulti-?(?:host|node|process)\b"
)
_BEGINS_NOT = rf"{HALTS}|\b(?:does(?:n't| not)|never|did(?:n't| not)) (?:start|begin)s?\b|\bidle\b"


def check(case: Case) -> Iterator[Finding]:
    told = [] if case.snapshot.live else accounts(case)
    for one in told:
        for found in _HAS.finditer(one.said):
            losers = [other for other in told if other is not one and _lost(other, found["name"])]
            if not losers or _HAS_NOT.search(one.said):
                continue
            meets = one.find(_MEETS)
            if not meets and not all(
                any(each.find(words, prose=True) for each in told) for words in (_GANG, _BEGINS_NOT)
            ):
                continue
            because = [f"{one.label}: {line_at(one.said, found.start())}", f"{losers[0].label}: {_line(losers[0])}"]
            title = "one process has a lock and waits for the others to come, and they wait for the lock"
            made = simple(RULE, title, LIKELY if meets else POSSIBLE, because, _STEPS)
            yield replace(made, compared=meets is not None or found["name"] is not None)
            return


def _lost(other: Account, name: str | None) -> bool:
    """Whether a subject says that it did not get a lock, which may be the one of a name."""
    found = _HAS_NOT.search(other.said)
    return found is not None and (
        name is None or found["name"] is None or found["name"].strip(",;.") == name.strip(",;.")
    )


def _line(loser: Account) -> str:
    found = _HAS_NOT.search(loser.said)
    return line_at(loser.said, found.start()) if found is not None else ""


RULE = make_rule(__name__, __doc__, "rank-never-joined", 37, check)
