"""The rank that everybody waits for left no recorder.

## What it means
All members of a group that left evidence issued a call; one member left none. Dumps are written by living processes: that
rank has probably died, or its host cannot be reached.

## How it is recognised
Recorders name the members of a group. The call that did not end was issued by all members with a recorder, nothing else
explains the wait, and for the remaining members there is no dump at all. Where that is most of them, or half of the job, or where
their dump is there and cannot be read, nobody is named.

## What to do
Find out why it is silent: does its process exist, does its host answer, what is the last line of its log?

## How to prevent it
A launcher that ends all ranks when one fails; a dump directory that all hosts can write.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...model.diagnosis import Certainty, CollectiveState, Finding, Kind
from ...model.ranks import RankSet, ranks_phrase
from .. import make_rule
from ._recorder import call, causes, certainty, waits


def check(case: Case) -> Iterator[Finding]:
    for state in causes(case, "no_evidence_rank"):
        if not state.culprits:
            if not case.snapshot.live and state.missing:
                yield _undecided(case, state)
            continue
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=certainty(case),
            title=f"{ranks_phrase(state.culprits)} left no record, and {call(state)} waits for {_them(state.culprits)}",
            ranks=state.culprits,
            processes=tuple(process for rank in state.culprits for process in case.of_rank(rank)),
            because=tuple(waits(case, state)),
            against=(f"the dump of {ranks_phrase(state.culprits)} may only be lost", *case.comparison.weak),
            next=(f"look for the process, the host and the end of the log of {ranks_phrase(state.culprits)}",), collective=state,
        )  # fmt: skip


def _them(ranks: RankSet) -> str:
    return "it" if len(ranks) == 1 else "them"


def _somebody(ranks: RankSet) -> str:
    return ranks_phrase(ranks) if len(ranks) == 1 else f"somebody of {ranks_phrase(ranks)}"


def _undecided(case: Case, state: CollectiveState) -> Finding:
    """Of some members nothing was gathered or read: whoever is missing is among them, and more than that cannot be said."""
    return Finding(
        rule=RULE.id, cls="collective-missed-by-rank", kind=Kind.CAUSE, certainty=Certainty.POSSIBLE,
        title=f"{call(state)} seems to wait for {_somebody(state.missing)}, of whom no record was read",
        because=tuple(waits(case, state)),
        against=("who left no record that can be read may have come as well", *case.comparison.weak),
        next=(f"gather the recorders of {ranks_phrase(state.missing)}",), collective=state,
    )  # fmt: skip


RULE = make_rule(__name__, __doc__, "dead-rank", 60, check)
