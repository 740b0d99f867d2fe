"""A send has no receive, or a receive no send.

## What it means
Point-to-point messages are matched in the order in which each pair of ranks posts them. When one side stops, posts them in
another order, or with another size, the other side waits for ever; in a pipeline the wait spreads over all stages.

## How it is recognised
The recorders' sends and receives of each pair are laid side by side and counted; the first that stands alone is shown, with
the rank that should have posted the other half and itself waits for nothing. Recorders of the gloo backend do not hold
messages; ranks that were prepared (`rankscope.prepare`) note them themselves.

## What to do
Look at the stack of the named rank, and at the order of sends and receives of the pair.

## How to prevent it
Post both directions in one `batch_isend_irecv`, or order them by parity of the rank.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...model.diagnosis import Finding, Kind, Reason
from ...model.ranks import ranks_phrase
from .. import make_rule
from ._recorder import call, causes, certainty, look_next, shared, waits


def check(case: Case) -> Iterator[Finding]:
    for state in causes(case, "p2p_unmatched"):
        culprits = state.culprits
        title = (
            f"{ranks_phrase(culprits)} never posted the other half of {call(state)}"
            if state.missing
            else f"the two sides of {call(state)} do not fit: {state.detail}"
        )
        reasons = [
            *waits(case, state),
            *shared(case, state),
            *(Reason(f"{ranks_phrase(ranks)}: {text}", "recorder") for text, ranks in state.found),
        ]
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=certainty(case), title=title, ranks=culprits,
            processes=tuple(process for rank in culprits for process in case.of_rank(rank)), because=tuple(reasons),
            against=case.comparison.weak, next=look_next(case, culprits), collective=state,
        )  # fmt: skip


RULE = make_rule(__name__, __doc__, "p2p-order-deadlock", 60, check)
