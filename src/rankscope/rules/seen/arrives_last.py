"""The same rank arrives last in every collective, and the others wait for it each time: slow, not stuck.

## What it means
The job gets on, at the pace of one rank: more data, a slower device, a noisy neighbour, extra work (logging, evaluation).

## How it is recognised
The recorders of all ranks hold the moment at which each issued each call. In the last calls one rank was last nearly always,
by a good part of the time between calls. Calls that were made only once are those of a start and left out. Only ranks of one
host are compared, since clocks differ.

## What to do
Profile that rank (`py-spy record -p PID`), compare its shard sizes, its device's clocks and temperature, and the other processes
on its cores.

## How to prevent it
Balance the shards; pin processes; watch step times per rank, not their mean.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator

from ...analysis.case import Case
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.recorder import Recorder
from ...model.ranks import RankSet
from ...model.ring import Ring
from ...model.words import span
from .. import make_rule
from .._say import who

_LAST_CALLS = 40
_ENOUGH = 5
_SHARE = 0.8  # of the calls in which the same rank is last
_PART = 0.3  # of the time between calls that the others spend waiting for it
_WORTH_S = 0.05


def check(case: Case) -> Iterator[Finding]:
    calls = _calls(case) if case.snapshot.live and len(case.snapshot.hosts) == 1 else []
    if len(calls) < _ENOUGH:
        return
    lasts = Counter(max(call, key=call.__getitem__) for call in calls)
    rank, count = lasts.most_common(1)[0]
    late = statistics.median(_lateness(call, rank) for call in calls)
    firsts = sorted(min(call.values()) for call in calls)
    pause = statistics.median(b - a for a, b in zip(firsts, firsts[1:]))
    if count < _SHARE * len(calls) or late < max(_WORTH_S, _PART * pause):
        return
    process = case.by_rank[rank].process
    yield Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.NOTE, certainty=Certainty.LIKELY,
        title=f"{who(process)} arrives last in {count} of the last {len(calls)} calls, by {span(late)}; the others wait for it",
        ranks=RankSet([rank]), processes=(process,),
        because=(Reason(f"one call every {span(pause)}, of which {span(late)} is waiting for rank {rank}", "recorder"),),
        next=(Step(f"py-spy record --nonblocking -d 30 -o rank{rank}.svg -p {process.ref.pid}", process.ref),),
    )  # fmt: skip


def _lateness(call: dict[int, float], rank: int) -> float:
    """How long after the last of the others this rank came, in seconds."""
    return call[rank] - max((at for one, at in call.items() if one != rank), default=call[rank])


def _calls(case: Case) -> list[dict[int, float]]:
    """For each of the last calls that all ranks made: when each issued it, in seconds."""
    rings = {rank: found for rank, member in case.by_rank.items() if (found := member.latest(Recorder))}
    if len(rings) < 2 or len(rings) != len(case.ranks):
        return []
    issued: dict[tuple[str, str, int], dict[int, float]] = {}
    kinds: dict[tuple[str, str, int], tuple[object, ...]] = {}
    for rank, ring in rings.items():
        columns = Ring.of(ring.entries)
        for call, seq, created_ns in zip(columns.calls, columns.seqs, columns.created):
            if not call.is_p2p and created_ns:
                key = (call.group, call.desc, seq)
                issued.setdefault(key, {})[rank] = created_ns / 1e9
                kinds[key] = (call.group, call.op, call.output_sizes)
    whole = {key: call for key, call in issued.items() if len(call) == len(rings)}
    often = Counter(kinds[key] for key in whole)
    again = [call for key, call in whole.items() if often[kinds[key]] > 1]
    calls = again if len(again) >= _ENOUGH else list(whole.values())
    return sorted(calls, key=lambda call: min(call.values()))[-_LAST_CALLS:]


RULE = make_rule(__name__, __doc__, "straggler-slow-rank", 91, check)
