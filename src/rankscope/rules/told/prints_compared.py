"""By what the ranks printed last, some did not get as far as the others.

## What it means
People put prints into the loop and read which rank says what last. A rank whose last line is one that the others left behind stands between that line and the next one
of the others; the others stand in what comes after theirs.

## How it is recognised
Lines of several ranks that are the same but for the rank and numbers; the job is said to hang; the last line of a minority is one that the others printed before
their own last, or a rank that the others name never printed the line at all.

## What to do
Look at the code between the last line of the rank that is behind and its next line: that is where it stands. `rankscope diagnose` shows it without prints.

## How to prevent it
`faulthandler.dump_traceback_later(600)` in each rank tells the same without prints. Mechanism: https://github.com/pytorch/pytorch/issues/141069
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
from collections.abc import Iterator

from ...analysis.accounts import Account, accounts
from ...analysis.case import Case
from ...analysis.pasted_code import mostly_code
from ...model.diagnosis import Finding
from ...model.patterns import regex
from ...model.ranks import RankSet, ranks_phrase
from .. import make_rule
from ._findings import simple
from ._lines import events
from ._signs import LIKELY, POSSIBLE
from ._wordings import HALTS

_STEPS = ("rankscope diagnose   # shows where each rank stands, without prints",)
_SPEAKS = regex(
    r"^\W{0,3}(?:\[?default\d+\]:)?\W{0,2}(?:\(\w+ pid=\d+\) )?\[?(?:global[ _]?|local[ _]?|world[ _]?)?(?:rank|RANK|Rank|GPU|gpu|proc(?:ess)?|worker|device)[ _:=#]{0,2}(?P<rank>\d{1,5})(?: ?(?:/|of) ?\d+)?\]?\W{0,3}(?P<said>.*)$|"
    r"^(?P<said_>.{2,80}?)[ ,:;(]+(?:(?:on|from|in|for|by) )?(?:rank|gpu|process|worker)[ _:=#]{0,2}(?P<rank_>\d{1,5})\)?\W*$",
    re.I,
)
_TRACED = regex(r"\s*(?:File \"|Traceback|frame #)")
_NUMBER = regex(r"0x[0-9a-f]+|\d+(?:[.:]\d+)*(?:e-?\d+)?")
_LOUD = regex(
    r"Watchdog|ProcessGroup|NCCL (?:INFO|WARN)|Traceback|Error|Timeout|File \"|frame #|terminate called|\.cpp:\d|"
    r"\bstuck|\bwaits?\b|\bhangs?\b|\bin\b \w+\(",
    re.I,
)
# Lists of cards are numbered too.
_CARD = regex(
    r"\b(?:pci|bus[ _-]?id|GeForce|Quadro|Tesla|RTX|NVIDIA|AMD|Instinct|Ascend|compute capability|MiB|Access Peer|UUID)",
    re.I,
)
_FEWEST = 2  # ranks that speak
_LATEST = 400  # lines of a rank


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live or case.collectives or not any(one.find(HALTS) or _with_calls(one) for one in accounts(case)):
        return
    told = printed(case)
    lasts = {rank: lines[-1] for rank, lines in told.items() if lines}
    if len(lasts) < _FEWEST or events(case, "python.exception"):
        return
    if (made := _stopped(told, lasts)) is not None:
        yield made
    else:
        yield from _counted(told, lasts)


def _stopped(told: dict[int, list[str]], lasts: dict[int, str]) -> Finding | None:
    """Ranks whose last line others passed; no more than a half of those that speak."""
    shapes = {rank: _shape(line) for rank, line in lasts.items()}
    before = {rank: {_shape(line) for line in lines[-_LATEST:-1]} for rank, lines in told.items()}
    behind = RankSet(rank for rank in shapes if _is_behind(rank, shapes, before))
    if not behind or 2 * len(behind) > len(lasts):
        return None
    ahead = next(rank for rank in lasts if rank not in behind)
    first = next(iter(behind))
    because = [f"last of rank {first}: {lasts[first]}", f"last of rank {ahead}: {lasts[ahead]}"]
    # What only one rank ever prints, as a log of rank 0 alone, does not tell how far the others are.
    shared = sum(shapes[ahead] in before[rank] or shapes[ahead] == shapes[rank] for rank in shapes) > 1
    title = f"{ranks_phrase(behind)} stopped at a line that others passed"
    return simple(RULE, title, LIKELY if shared else POSSIBLE, because, _STEPS, behind)


def _is_behind(rank: int, shapes: dict[int, str], before: dict[int, set[str]]) -> bool:
    """Whether others have passed the line at which a rank stands, and it has passed none of theirs."""
    passed = any(shapes[rank] in before[other] and shapes[rank] != shape for other, shape in shapes.items())
    return passed and not any(shape in before[rank] for other, shape in shapes.items() if other != rank)


def _with_calls(account: Account) -> bool:
    """Whether somebody pasted code with a call in which ranks meet."""
    return mostly_code(account.said.splitlines()[:80]) and account.find(_MEETS) is not None


_MEETS = r"\b(?:\w+\.)*(?:barrier|all_?reduce\w*|all_?gather\w*|gather\w*|broadcast\w*|reduce\w*|wait_for_everyone)\("


def printed(case: Case) -> dict[int, list[str]]:
    """What each rank printed, without what libraries and launchers say of it."""
    out: dict[int, list[str]] = {}
    dumped = {member.ref for member in case.members if member.process.python is not None}
    for account in accounts(case):
        if not dumped.isdisjoint(account.refs):
            continue  # the lines of a dump, whose heading reads like "Process 3: …"
        # Lines of tracebacks and sources come from where they fail, not from prints.
        prefixed = not any(_TRACED.match(event.text) for event in account.events)
        for event in account.events:
            if _LOUD.search(event.text):
                continue
            found = _SPEAKS.match(event.text.strip()[:300])
            if found is not None:
                rank, said = int(found["rank"] or found["rank_"]), found["said"] if found["rank"] else found["said_"]
            elif prefixed and event.rank is not None and event.event == "text.line":
                rank, said = event.rank, event.text  # the prefix of a launcher tells who speaks
            else:
                continue
            if said.strip() and not _CARD.search(said):
                out.setdefault(rank, []).append(said.strip())
    return out


def _shape(line: str) -> str:
    """A line without its numbers, except those that count steps and batches."""
    return _NUMBER.sub("0", line).lower()


_STEP = regex(r"\b(?:batch|step|iter(?:ation)?|sample|epoch|idx|micro\w*)(?: number| index)?\W{0,3}(\d+)", re.I)


def _counted(told: dict[int, list[str]], lasts: dict[int, str]) -> Iterator[Finding]:
    """Ranks that print the same words to the end, and one of which counts less far than the others."""
    counts = {rank: int(found.group(1)) for rank, line in lasts.items() if (found := _STEP.search(line))}
    if len(counts) < len(told) or len(counts) < _FEWEST or len(set(counts.values())) < 2:
        return
    low, high = min(counts.values()), max(counts.values())
    behind = RankSet(rank for rank, number in counts.items() if number == low)
    because = [f"last of rank {rank}: {line}" for rank, line in sorted(lasts.items())[:4]]
    title = f"{ranks_phrase(behind)} counted to {low}, others to {high}"
    yield simple(RULE, title, POSSIBLE, because, _STEPS, behind)


RULE = make_rule(__name__, __doc__, "collective-missed-by-rank", 49, check)
