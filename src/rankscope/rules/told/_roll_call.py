"""Roll calls: one text that says of several groups of ranks where each stands, as watchdogs and people write them."""

from __future__ import annotations

import re

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.doings import Doing, doings, in_kind
from ...analysis.frame_tables import WaitKind
from ...model.patterns import regex
from ._wordings import OVER

WAITING = (WaitKind.COLLECTIVE.value, WaitKind.BACKWARD.value)


def roll_call(case: Case) -> list[Doing]:
    """What one account says for several groups of ranks, where each stands; empty where none does."""
    for known in _by_account(case).values():
        placed = [doing for doing in _latest(known) if _says_where(doing)]
        if len(placed) < 2 or len({_place(doing) for doing in placed}) < 2 or blames_another(placed):
            continue
        if not in_kind(placed, *WAITING) and any(account.find(_EXCHANGES) for account in accounts(case)):
            continue  # prints beside sends: where each stands follows from the order in which they were posted
        if in_kind(placed, *WAITING) or any(_HALTED.search(doing.text) for doing in placed):
            return placed
    return []


def _latest(known: list[Doing]) -> list[Doing]:
    """Of a log that tells several things of the same ranks, the last."""
    return list({str(doing.ranks) if doing.ranks else (doing.text, doing.count): doing for doing in known}.values())


_EXCHANGES = r"\b(?:P2POp|isend|irecv|Isend|Irecv|ncclSend|ncclRecv)\("
# Not the name of a function: "wait (threading.py:320)".
_HALTED = regex(
    r"\b(?:stopped|stuck|hangs?|hung|blocked|waits?|waiting|frozen|launched|up to (?:operation|#|seq)|behind)\b(?! ?\()",
    re.I,
)
_MEASURES = regex(r"\b(?:loss|time|memory|mem|tps|speed|lr|CPU)\b|\d ?(?:%|(?:ms|s|GB|GiB|MiB)\b)", re.I)


_CLOCK = regex(r"\d\d:\d\d\b")  # what is left of a time at the head of a line


def _says_where(doing: Doing) -> bool:
    """Whether a sentence tells a place, not a measure, a row of a table or what is over."""
    if OVER.search(doing.text) or _CLOCK.match(doing.text):
        return False
    if doing.kind == "unknown":
        return (
            bool(re.search("[A-Za-z]{3}", doing.text)) and not _MEASURES.search(doing.text) and "pid" not in doing.text
        )
    return True


def _place(doing: Doing) -> str:
    """A place by the call, where one is named; otherwise by its words."""
    return doing.op if doing.kind in WAITING and doing.op else doing.text.split("]", 1)[-1].strip().lower()


def blames_another(found: list[Doing]) -> bool:
    return bool(
        in_kind(found, "exception", "dead", WaitKind.DATA.value, "silent", WaitKind.DEVICE.value, WaitKind.P2P.value)
    )


def _by_account(case: Case) -> dict[str, list[Doing]]:
    out: dict[str, list[Doing]] = {}
    for doing in doings(case):
        if doing.account is not None and not doing.account.seen:
            out.setdefault(doing.account.label, []).append(doing)
    return {label: found for label, found in out.items() if len(found) > 1}
