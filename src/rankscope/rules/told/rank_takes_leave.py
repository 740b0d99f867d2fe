"""A rank says in its last line that it exits, and others stand in a call that needs it.

## What it means
A check of its own arguments or data made one rank end by itself, with exit code 0. No launcher takes that for a failure, and nobody tells the others, who wait for it in their next collective.

## How it is recognised
The last line of a few ranks ends in words of leaving (`nothing to do, exiting`), not of work that is done; the others, who are more, say nothing of that kind; and a stack or a
time-out shows somebody in a collective.

## What to do
Read what that rank says, and mend what it lacks: a shard without files, an argument that holds on one host only.

## How to prevent it
End with a code other than 0, or let all ranks agree before one of them leaves.
"""

# ruff: noqa: E501  (the page)
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...model.diagnosis import Finding
from ...model.patterns import regex
from ...model.ranks import RankSet, ranks_phrase
from .. import make_rule
from ._findings import simple
from ._lines import events
from ._signs import LIKELY

_STEPS = ("ps -o pid,etime,args -C python   # on its host: how many of the ranks are there",)
_LEAVES = regex(
    r"(?i)^(?!.*\b(?:done|finish\w*|complet\w*|success\w*|saved|reached|drained|end of)\b).*\b(?:exiting|quitting|bailing out|leaving|exits|quits)"
    r"(?: (?:now|early|here|the (?:process|program|job|training)|training|with(?: exit)? (?:code|status) 0))*[.! ]*$"
)
_TOGETHER = regex(r"(?i)all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|bcast|barrier")


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live:
        return
    lasts = {event.rank: event for event in case.events if event.rank is not None and event.event == "text.line"}
    there = {rank for account in accounts(case) if account.seen for rank in account.ranks}
    gone = RankSet(rank for rank, event in lasts.items() if rank not in there and _LEAVES.match(event.text))
    if not gone or 2 * len(gone) >= len(lasts):
        return
    if (waits := _somebody_waits(case, gone)) is not None:
        title = f"{ranks_phrase(gone)} left, and others stand in a call that needs {'it' if len(gone) == 1 else 'them'}"
        because = [f"last of {ranks_phrase(gone)}: {lasts[next(iter(gone))].text}", waits]
        yield replace(simple(RULE, title, LIKELY, because, _STEPS, gone), compared=True)


def _somebody_waits(case: Case, gone: RankSet) -> str | None:
    """A frame or a time-out that shows somebody else in a call of all ranks."""
    for account in accounts(case):
        for seen in account.seen if not account.ranks & gone else ():
            found = next((frame.function for frame in seen.stack if _TOGETHER.search(frame.function)), None)
            if found is not None:
                return f"{account.label} stands in {found}"
    timed = [event for event in events(case, "torch.watchdog_timeout", "gloo.op_timeout") if event.rank not in gone]
    return timed[0].text if timed else None


RULE = make_rule(__name__, __doc__, "dead-rank", 58, check)
