"""The members of a group issued different calls under one number.

## What it means
Collectives of a group are matched by their order alone. When one rank leaves a call out, adds one, swaps two, or passes another
size or type, its call meets another call of its peers: they hang, abort, or go on with wrong data.

## How it is recognised
At the first number that did not end, the recorders of the members show different operations, element counts or types. The
smaller party is named; where both are equally large, what the group usually does decides, else both sides are shown. The calls
that follow tell whether one was left out, added or swapped. Where the two calls come from two threads, one of them started by
the program, and on every rank both are in a call of the group, the threads come in another order, and no rank is named. Ranks
that were prepared (`rankscope.prepare`) also note which root they passed. Where nothing waits, calls that are over and were not
the same are told as possible: their data is wrong.

## What to do
Compare the two call sites that are shown. Look for a branch on rank-local data before them, for tensors whose size
depends on the batch, for options that only some ranks got. Give each thread that issues collectives a group of its own.

## How to prevent it
Make the sequence of calls a function of shared data; `TORCH_DISTRIBUTED_DEBUG=DETAIL` in a test run turns it into an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...analysis.case import Case
from ...analysis.identity import name_of
from ...model.diagnosis import Certainty, CollectiveState, Finding, Kind, Reason
from ...model.evidence.recorder import Recorder, RecorderEntry
from ...model.ranks import RankSet, ranks_phrase
from .. import make_rule
from ._recorder import (
    at_most_likely,
    call,
    causes,
    certainty,
    look_next,
    roots_noted,
    roots_passed,
    shared,
    site,
    user_frame,
    waits,
)

_ASKED = 8  # ranks of each side
_THREAD = ("threading.py", "_bootstrap")
_WORDS = {
    "collective_mismatch": "issued another call than its peers",
    "size_mismatch": "passed another size than its peers",
    "dtype_mismatch": "passed another data type than its peers",
    "argument_mismatch": "passed another root or reduction than its peers",
}


def check(case: Case) -> Iterator[Finding]:
    for state in causes(case, *_WORDS, "stuck_in_flight"):
        said = roots_noted(case, state)
        passed = said if len(said) > 1 else roots_passed(case, state)
        if len(passed) > 1:
            yield _roots(case, state, passed, certain=passed is said)
        elif state.kind in _WORDS:
            yield _recorded(case, state)
    for state in case.comparison.differ if case.comparison.moving is not True else ():
        yield _finished(case, state)


def _finished(case: Case, state: CollectiveState) -> Finding:
    """The calls are over, so nobody waits: what arrived is cut, stale or misread."""
    who = ranks_phrase(state.culprits) if state.culprits else "some members"
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.POSSIBLE, ranks=state.culprits,
        title=f"{who} {_WORDS[state.kind]} at {call(state)}, which is over: its data is wrong",
        processes=tuple(process for rank in state.culprits for process in case.of_rank(rank)),
        because=(*_usual(state), *_odd(state), *_places(case, state)), against=case.comparison.weak,
        next=look_next(case, state.culprits), collective=state,
    )  # fmt: skip


def _recorded(case: Case, state: CollectiveState) -> Finding:
    """The recorder shows the difference (or, for an argument it does not hold, its trace)."""
    if _by_threads(case, state):
        return _in_turn_by_chance(case, state)
    who = ranks_phrase(state.culprits) if state.culprits else "some members"
    sure = Certainty.POSSIBLE if state.kind == "argument_mismatch" else certainty(case)
    return Finding(
        rule=RULE.id, cls=_class(case, state), kind=Kind.CAUSE, certainty=sure,
        title=f"{who} {_WORDS[state.kind]} at {call(state)}", ranks=state.culprits,
        processes=tuple(process for rank in state.culprits for process in case.of_rank(rank)),
        because=(*_usual(state), *_odd(state), *_places(case, state), *shared(case, state), *_waiting(case, state)),
        against=case.comparison.weak, next=look_next(case, state.culprits), collective=state,
    )  # fmt: skip


def _in_turn_by_chance(case: Case, state: CollectiveState) -> Finding:
    """Threads of each rank issue calls of one group: no rank is more at fault than another."""
    lines = sorted({line for one in _of_both(case, state) if (line := _line(one))})
    places = " and ".join(f"{file.rsplit('/', 1)[-1]}:{number}" for file, number in lines[:2])
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=certainty(case),
        title=f"two threads of each rank issue calls of one group, and come in another order at {call(state)}",
        because=(Reason(f"calls of this group are issued at {places}, by two threads of every rank", "recorder"),
                 *_usual(state), *_odd(state), *shared(case, state), *_waiting(case, state)),
        against=case.comparison.weak,
        next=(*look_next(case, state.culprits), "dist.new_group() for each thread that issues collectives"), collective=state,
    )  # fmt: skip


def _by_threads(case: Case, state: CollectiveState) -> bool:
    """Whether the two calls come from two threads, of which the program started one, and on every rank both are in a call of this
    group by now. What runs backward has a thread as well, but its calls and those of the main one are not under way together."""
    began = {_beginning(one) for one in _of_both(case, state)}
    return state.kind == "collective_mismatch" and len(began) > 1 and _THREAD in began and all(
        began <= {_beginning(one) for one in _calls(case, rank)
                  if one.group == state.group and one.seq >= (state.seq or 0) and not one.done}
        for rank in list(state.arrived)[:_ASKED]
    )  # fmt: skip


def _of_both(case: Case, state: CollectiveState) -> list[RecorderEntry]:
    """The calls of this number, of some of those who arrived."""
    return [one for rank in list(state.arrived)[:_ASKED] if (one := _entry(case, state, rank)) and one.frames]


def _beginning(entry: RecorderEntry) -> tuple[str, str] | None:
    """Where the thread began that issued a call: its outermost frame."""
    return name_of(entry.frames[-1]) if entry.frames else None


def _class(case: Case, state: CollectiveState) -> str:
    """Another operation issued from another line is another path through the program: the others' call was missed.

    Another one from the same line, or another size or type, is the same call made differently. So is one that a branch of
    the same function makes in place of the usual one: of the same size, and from a line at which the others call nothing.
    """
    if state.kind != "collective_mismatch" or not state.culprits:
        return RULE.cls
    usual = [one for rank in list(state.arrived - state.culprits)[:_ASKED] if (one := _entry(case, state, rank))]
    odd = [one for rank in list(state.culprits)[:_ASKED] if (one := _entry(case, state, rank))]
    apart = {_line(one) for one in usual} - {None}, {_line(one) for one in odd} - {None}
    if not all(apart) or apart[0] & apart[1] or _instead(case, state, usual, odd):
        return RULE.cls
    return "collective-missed-by-rank"


def _instead(case: Case, state: CollectiveState, usual: list[RecorderEntry], odd: list[RecorderEntry]) -> bool:
    """Whether the odd calls stand where the usual one should: none is a barrier, they move the same data from the same
    function, and their lines are no calls of the others that came too early here."""
    if any(one.op == "barrier" for one in (*usual, *odd)):
        return False
    if {one.input_sizes for one in odd} != {one.input_sizes for one in usual} or _functions(odd) != _functions(usual):
        return False
    lines = {_line(one) for one in odd}
    return not any(
        _line(one) in lines for rank in list(state.arrived - state.culprits)[:_ASKED] for one in _calls(case, rank)
    )


def _functions(entries: list[RecorderEntry]) -> set[tuple[str, str]]:
    return {(frame.file, frame.function) for one in entries if (frame := user_frame(one))}


def _calls(case: Case, rank: int) -> tuple[RecorderEntry, ...]:
    """The last calls of a rank, in any group."""
    member = case.by_rank.get(rank)
    recorder = member.latest(Recorder) if member else None
    return tuple(recorder.entries[-512:]) if recorder else ()


def _entry(case: Case, state: CollectiveState, rank: int) -> RecorderEntry | None:
    """What a rank issued as the call of this number in this group."""
    mine = [e for e in _calls(case, rank) if e.group == state.group and e.seq == state.seq and not e.is_p2p]
    return mine[-1] if mine else None


def _line(entry: RecorderEntry) -> tuple[str, int] | None:
    """The line of the job's own code from which a call was issued; None where nothing tells."""
    frame = user_frame(entry)
    return (frame.file, frame.line) if frame else None


def _waiting(case: Case, state: CollectiveState) -> list[Reason]:
    return list(waits(case, replace(state, waiting=state.waiting - state.culprits)))[:1]


def _usual(state: CollectiveState) -> Iterator[Reason]:
    rest = state.arrived - state.culprits
    if rest:
        sizes = " ".join(str(list(dims)) for dims in (state.input_sizes or state.output_sizes)[:2])
        yield Reason(f"{ranks_phrase(rest)} issued {call(state)} {sizes} {state.dtype}".rstrip(), "recorder")


def _odd(state: CollectiveState) -> Iterator[Reason]:
    for text, ranks in state.found:
        yield Reason(f"{ranks_phrase(ranks)} issued {text} as #{state.seq}", "recorder")
    if state.detail:
        yield Reason(state.detail, "recorder")


def _places(case: Case, state: CollectiveState) -> Iterator[Reason]:
    """Where one of the usual ranks and the odd ones issued their calls."""
    usual = site(case, state, state.arrived - state.culprits)
    if usual:
        yield Reason(f"{call(state)} is issued at {usual}", "recorder")
    for rank in list(state.culprits)[:2]:
        entry = _entry(case, state, rank)
        line = _line(entry) if entry else None
        if line is not None:
            yield Reason(f"rank {rank} issued its call at {line[0].rsplit('/', 1)[-1]}:{line[1]}", "recorder")


def _roots(case: Case, state: CollectiveState, passed: dict[str, RankSet], certain: bool) -> Finding:
    """Ranks passed different roots, as they noted or as their stacks show; the smaller party is named, if one is smaller."""
    sides = sorted(passed.items(), key=lambda party: -len(party[1]))
    odd = RankSet(rank for _, ranks in sides[1:] for rank in ranks)
    fault = odd if len(sides[0][1]) > len(odd) else RankSet()
    source = "calls" if certain else "python-stack"
    said = tuple(Reason(f"{ranks_phrase(ranks)} passed {root} as the root", source) for root, ranks in sides)
    everybody = RankSet(rank for _, ranks in sides for rank in ranks)
    sure = certainty(case)
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=sure if certain else at_most_likely(sure), ranks=fault,
        title=f"{ranks_phrase(everybody)} passed different roots to {call(state)}",
        processes=tuple(process for rank in fault for process in case.of_rank(rank)),
        because=(*said, *waits(case, state)), against=case.comparison.weak, next=look_next(case, odd),
        collective=replace(state, kind="argument_mismatch", culprits=fault),
    )  # fmt: skip


RULE = make_rule(__name__, __doc__, "collective-mismatch", 60, check)
