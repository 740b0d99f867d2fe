"""A rank is found busy on one line of the program in every look, while others wait in a collective.

## What it means
The rank is neither blocked nor slow on its way: it computes, and does not leave one place of the job's own code. A loop there does not end, or takes so long for
this rank's input that the others give up.

## How it is recognised
Somebody looked several times (`5 of 5 samples`, each dump) and found the same line of a file that is no library's, with the processor busy (state R, about 100 %),
while other ranks stand in a collective or barrier.

## What to do
Read the loop at that line and what it runs over on this rank: a listing, a search, a retry without a limit. `py-spy record -d 30 --pid PID` shows what it calls.

## How to prevent it
Limits in loops that wait for a condition; work of one rank before the others are made to wait. Mechanism: https://github.com/mlcommons/storage/issues/592
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
from collections.abc import Iterator

from ...analysis.accounts import Account, accounts
from ...analysis.case import Case
from ...analysis.doings import doings, in_kind
from ...analysis.frame_tables import WaitKind
from ...model.diagnosis import Finding
from ...model.patterns import regex
from .. import make_rule
from ._findings import simple
from ._signs import LIKELY

_STEPS = (
    "py-spy record -d 30 --pid PID   # what the line calls",
    "rankscope diagnose   # tells a thread that computes from one that waits",
)
_LOOKS = r"(?:samples?|dumps?|looks?|snapshots?|times|traces?|stacks?|py-spy)"
# The same in each look: "5 of 5 samples", "10/10 dumps", "in every dump", "the same line each time".
_EVERY = (
    rf"(?:\b(?P<n>\d+) ?(?:of|/|out of) ?(?P=n) {_LOOKS}|"
    rf"\b(?:in |at )?(?:every|each|all(?: the| \d+)?) (?:py-spy )?(?:{_LOOKS}|time\b)|\bsame line\b)"
)
_PLACE = r"(?P<file>[\w./-]+\.pyx?)(?::|[^\n]{0,6}\bline )\d+"
_SEEN = regex(rf"^(?=[^\n]*{_PLACE})(?=[^\n]*{_EVERY})[^\n]*$", re.I | re.M)
_BUSY = (
    r"\bstate:? R\b|\bR \(running\)|\b(?:9\d|1\d\d)(?:\.\d)?(?: ?[-–] ?\d+)? ?% ?(?:of )?(?:a |one )?(?:CPU|core)\b|"
    r"\bCPU\W{1,3}(?:9\d|1\d\d)(?:\.\d)? ?%|\b(?:busy|spins?|spinning)\b"
)
# Who waits for a device spins there as well, and who is inside a library is not in the program's own loop.
_WAITS = regex(
    r"site-packages|/torch/|\btorch\.|synchronize|\.item\(|\.cpu\(|\.tolist\(|cuda|nccl|backward|all_?reduce|"
    r"all_?gather|barrier|broadcast|\bMPI_|\bprogress\b",
    re.I,
)


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live or case.collectives:
        return
    waiting = in_kind(doings(case), WaitKind.COLLECTIVE.value, WaitKind.RENDEZVOUS.value, WaitKind.BACKWARD.value)
    for account in accounts(case):
        line = _one_line(account)
        others = [one for one in waiting if one.account is not account] if line else []
        if line and others:
            because = [line, account.find(_BUSY) or "", f"the others: {others[0].text}"]
            title = f"{account.label} computes on one line of the program in every look"
            yield simple(RULE, title, LIKELY, because, _STEPS, account.ranks)
            return


def _one_line(account: Account) -> str | None:
    """The line by which a busy subject stands at one place of the program, look after look."""
    found = _SEEN.search(account.prose)
    if found is None or _WAITS.search(found[0]) or not account.find(_BUSY, prose=True):
        return None
    return found[0].strip()


RULE = make_rule(__name__, __doc__, "rank-stuck-in-user-code", 40, check)
