"""The members of a group issued different calls under one number.

## What it means
Collectives of a group are matched by their order alone. When one rank leaves a call out, adds one, swaps two, or passes another
size or type, its call meets another call of its peers: they hang, abort, or go on with wrong data.

## How it is recognised
At the first number that did not end, the recorders of the members show different operations, element counts or types. The
smaller party is named; where both are equally large, what the group usually does decides, else both sides are shown. The
calls that follow tell whether one was left out, added or swapped.

## What to do
Compare the two call sites that are shown. Look for a branch on rank-local data before them, for tensors whose size
depends on the batch, for options that only some ranks got.

## How to prevent it
Make the sequence of calls a function of shared data; `TORCH_DISTRIBUTED_DEBUG=DETAIL` in a test run turns it into an error.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.case import Case
from ..model.diagnosis import Certainty, Finding, Kind, Reason
from ..model.ranks import RankSet, ranks_phrase
from . import Rule
from ._recorder import call, causes, certainty, look_next, site, waits

_WORDS = {
    "collective_mismatch": "issued another call than its peers",
    "size_mismatch": "passed another size than its peers",
    "dtype_mismatch": "passed another data type than its peers",
    "argument_mismatch": "passed another root or reduction than its peers",
}


def check(case: Case) -> Iterator[Finding]:
    for state in causes(case, *_WORDS):
        who = ranks_phrase(state.culprits) if state.culprits else "some members"
        reasons = [
            Reason(f"{ranks_phrase(ranks)} issued {text} as #{state.seq}", "recorder") for text, ranks in state.found
        ]
        rest = state.arrived - state.culprits
        if rest:
            sizes = " ".join(str(list(dims)) for dims in (state.input_sizes or state.output_sizes)[:2])
            reasons.insert(
                0, Reason(f"{ranks_phrase(rest)} issued {call(state)} {sizes} {state.dtype}".rstrip(), "recorder")
            )
        if state.detail:
            reasons.append(Reason(state.detail, "recorder"))
        odd = state.culprits & state.waiting
        sites = [site(case, state, RankSet([rank])) for rank in (*list(rest)[:1], *list(odd)[:2])]
        reasons.extend(Reason(f"issued at {place}", "recorder") for place in dict.fromkeys(sites) if place)
        sure = Certainty.POSSIBLE if state.kind == "argument_mismatch" else certainty(case, state)
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=sure,
            title=f"{who} {_WORDS[state.kind]} at {call(state)}", ranks=state.culprits,
            processes=tuple(process for rank in state.culprits for process in case.of_rank(rank)),
            because=(*reasons, *list(waits(case, state))[:1]), against=case.comparison.weak,
            next=look_next(case, state.culprits), collective=state,
        )  # fmt: skip


RULE = Rule(id="recorder-mismatch", cls="collective-mismatch", check=check, page=__doc__ or "", order=60)
