"""What one rank sends to another in an all-to-all is not as much as the other expects of it.

## What it means
Each rank of an all-to-all with uneven shares says how much it sends to every other one, and how much it expects of each. What one sends is what the other must expect.
Where the two differ NCCL waits for ever in a call that all ranks have entered, and gloo hands on what is only half there.

## How it is recognised
Lists of shares (`input_split_sizes`, `output_splits`, `sendcounts`, `recv counts`) of every rank of a group, as long as the group is large. Most of them meet,
entry by entry, and some do not. Of a call that was printed again and again, all that came before meet.

## What to do
Look between the exchange of the counts and the call: tokens that one rank drops there (capacity), pads, or routes again are sent by counts that the others do not know.

## How to prevent it
Exchange the counts after the last step that changes them, and send by what was exchanged. Mechanism: https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_to_all_single
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import Account, accounts
from ...analysis.case import Case
from ...analysis.sayings import sayings
from ...model.diagnosis import Finding
from ...model.evidence.events import Event
from ...model.patterns import regex
from ...model.ranks import RankSet
from ...model.repeated import found_in
from .. import make_rule
from ._findings import simple
from ._signs import LIKELY

_STEPS = ("print the counts that were exchanged beside the splits of the call, rank by rank",)
_TITLE = "rank {} sends {} to rank {}, which expects {}: the shares of an all-to-all do not meet"
# How programs, torch and MPI name the two lists.
_LIST = r"[ _-]?(?:split|count)s?(?:[ _-]?sizes?)?(?: ?[=:])? ?(?:\w+\()?[\[(] *(?P<shares>\d{1,15}(?:(?:, *| +)\d{1,15})+),? *[\])]"
_SENT = regex(r"(?<![A-Za-z])(?:input|in|send|sent|s)" + _LIST, re.IGNORECASE)
_EXPECTED = regex(r"(?<![A-Za-z])(?:output|out|recv|receive|received|r)" + _LIST, re.IGNORECASE)
_NUMBER = regex(r"\d+")
_IN_GROUP = regex(r"\b(?:ep|moe|expert|tp|cp|sp)(?:_rank)?[ =:_-]{0,2}(\d{1,6})\b", re.IGNORECASE)

Shares = tuple[int, ...]


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live:
        return
    sent, expected = _told(case, _SENT), _told(case, _EXPECTED)
    times = {len(lists) for told in (sent, expected) for lists in told.values()}
    if len(sent) < 2 or sent.keys() != expected.keys() or len(times) != 1:
        return
    ranks = sorted(sent)
    for time in range(times.pop()):
        mine, theirs = [sent[rank][time] for rank in ranks], [expected[rank][time] for rank in ranks]
        if {len(shares) for shares in (*mine, *theirs)} != {len(ranks)}:
            return
        pairs = [(at, to) for at in range(len(ranks)) for to in range(len(ranks)) if mine[at][to] != theirs[to][at]]
        if pairs:
            # Lists in other units, or of other calls, meet nowhere.
            if 2 * len(pairs) < len(ranks) ** 2:
                yield _finding(ranks, mine, theirs, pairs)
            return


def _told(case: Case, pattern: re.Pattern[str]) -> dict[int, list[Shares]]:
    """The lists that each rank gave, in their order."""
    out: dict[int, list[Shares]] = {}
    for account in accounts(case):
        for event in account.events:
            if not found_in(event.text, pattern):
                continue
            if (found := pattern.search(event.text)) and (rank := _speaker(account, event)) is not None:
                out.setdefault(rank, []).append(tuple(map(int, _NUMBER.findall(found["shares"]))))
    return out


def _speaker(account: Account, event: Event) -> int | None:
    """The one rank of which a line speaks: by its prefix, by its words, or by whose log it is."""
    if event.rank is not None:
        return event.rank
    if in_group := _IN_GROUP.search(event.text):
        return int(in_group[1])  # the shares are those of the members of that group
    named = [subject.ranks for subject, _ in sayings(event.text)] or [account.ranks]
    return next(iter(named[0])) if len(named[0]) == 1 else None


def _finding(ranks: list[int], mine: list[Shares], theirs: list[Shares], pairs: list[tuple[int, int]]) -> Finding:
    at, to = pairs[0]
    title = _TITLE.format(ranks[at], mine[at][to], ranks[to], theirs[to][at])
    because = (
        f"rank {ranks[at]} sends to each rank: {list(mine[at])}",
        f"rank {ranks[to]} expects of each rank: {list(theirs[to])}",
    )
    # Of one pair either may be wrong; who does not agree with several is the odd one.
    partners = {end: sum(end in pair for pair in pairs) for pair in pairs for end in pair}
    odd = [end for end, many in partners.items() if many == len(pairs)] if len(pairs) > 1 else []
    blamed = RankSet(ranks[end] for end in odd) if len(odd) == 1 else RankSet()
    return replace(simple(RULE, title, LIKELY, because, _STEPS, blamed), compared=True)


RULE = make_rule(__name__, __doc__, "collective-mismatch", 38, check)
