"""Workers print the call that they are in, and in one and the same moment one of them prints another count.

## What it means
An all-reduce or a broadcast takes as many elements from each worker. Where one brings more or fewer, the results are wrong, the call
fails, or it waits for ever, and the sequences of calls have come apart before.

## How it is recognised
Lines of one call with one time stamp, as many as there are workers, that are alike but for the count; nobody's name need stand before them. The job
fails or stands still.

## What to do
Find what the number is made of (features, tokens, bins, parameters) and why a worker has others: print it together with the rank, or
`rankscope diagnose` with `rankscope.prepare`, which notes each call.

## How to prevent it
Make the size of a call from what all have agreed on. Mechanism: https://github.com/dmlc/xgboost/issues/9107
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import Account, accounts
from ...analysis.case import Case
from ...model.diagnosis import Finding
from ...model.patterns import regex
from ...model.repeated import of_texts
from .. import make_rule
from ._findings import simple
from ._signs import LIKELY
from ._wordings import troubled

_STEPS = (
    "rankscope analyze LOGS…   # with the rank in front of each line",
    "TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun …",
)
# Calls in which all bring the same, and how programs name the number.
_PRINTED = regex(
    r"^\W{0,3}(?:(?P<at>(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?)\]?\W{0,4})?(?P<words>[^\n]{0,80}?\b\w*(?:all_?reduce|broadcast|bcast)\w*\b[^\n]{0,60}?\b(?:count|numel|elements?|size|len(?:gth)?|n) ?[=:] ?)(?P<count>\d+)\b",
    re.I,
)
_NUMBER = regex(r"\d+")
_WORKERS = regex(
    r"\b(\d{1,5}) (?:\w+ )?(?:workers|ranks|processes|gpus|nodes|tasks)\b|"
    r"(?<!\w)(?:-np?|--nproc[_-]per[_-]node|world_?size|num_?workers)[ =:]+(\d{1,5})\b",
    re.I,
)
_FEWEST = 3  # workers; of two, none is the odd one


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live or case.collectives or not troubled(case):
        return
    for account in accounts(case):
        many = _how_many(account)
        for lines in _moments(account).values():
            counts = Counter(count for count, _ in lines)
            (usual, most), *others = counts.most_common()
            if len(lines) == many and others and 2 * most > many:
                odd = [line for count, line in lines if count != usual]
                title = f"{len(odd)} of {many} workers call with another count than the others in one moment"
                same = next(line for count, line in lines if count == usual)
                yield replace(simple(RULE, title, LIKELY, [*odd[:2], same], _STEPS), compared=True)
                return


def _how_many(account: Account) -> int | None:
    """How many workers a text speaks of, in its heading or its words."""
    found = _WORKERS.search(account.label.replace("_", " ")) or _WORKERS.search(account.prose)
    many = int(found[1] or found[2]) if found else 0
    return many if many >= _FEWEST else None


@of_texts
def _printed(line: str) -> re.Match[str] | None:
    return _PRINTED.match(line)


def _moments(account: Account) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Calls that were printed, by their second and by their words without numbers: each with its count and line."""
    out: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for event in account.events:
        if event.event == "text.line" and (found := _printed(event.text)):
            at = found["at"] or ("" if event.at_s is None else f"{event.at_s:.1f} s")
            if at:
                key = at, _NUMBER.sub("#", found["words"])
                out.setdefault(key, []).append((found["count"], event.text))
    return out


RULE = make_rule(__name__, __doc__, "collective-mismatch", 43, check)
