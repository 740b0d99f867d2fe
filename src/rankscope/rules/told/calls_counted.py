"""The ranks' counts disagree: one made fewer calls, or has fewer batches, than the others.

## What it means
Every collective of a group has a number. A rank that stands at a lower number than its peers, or that has less to do than they have, did not make a
call that they made: it skipped a step, left a loop early, or took a branch of its own. The others wait for it in the call it did not make.

## How it is recognised
A desync report of the watchdog; time-outs of one group at different sequence numbers, or from all ranks but some; `opCount` of `NCCL_DEBUG=INFO
NCCL_DEBUG_SUBSYS=COLL` that ends lower in one process; ranks that each print another number of batches, steps or samples; calls that somebody has counted (`the first node one all_reduce more than the second`).

## What to do
Look at what the rank with the lower number did last, and at the branch before it (`rankscope analyze DUMPS…` names the first call that is missing).
`TORCH_NCCL_TRACE_BUFFER_SIZE=20000 TORCH_NCCL_DUMP_ON_TIMEOUT=1` writes recorders with the stack of each call at the next time-out (newer torch
also takes `TORCH_FR_BUFFER_SIZE`).

## How to prevent it
Equal numbers of steps on all ranks: `drop_last=True`, `DistributedSampler`, `Join`, or an agreed maximum. Count the batches of all ranks before the loop:
`dist.all_reduce(n, op=dist.ReduceOp.MIN)`. Mechanism: https://github.com/pytorch/pytorch/issues/153779
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...model.diagnosis import Finding
from ...model.patterns import regex
from ...model.ranks import RankSet, ranks_phrase
from ...model.repeated import found_in
from ...model.words import verb
from .. import make_rule
from ._findings import simple
from ._first_error import first_error
from ._lines import events, said_by_ranks, was_cut
from ._signs import LIKELY, POSSIBLE
from ._timeouts import day, in_several_groups, timeouts
from ._wordings import halted

_STEPS = (
    "rankscope diagnose   # shows the last common call and the first different line",
    "TORCH_NCCL_TRACE_BUFFER_SIZE=20000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 torchrun …",
)


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live or case.collectives:
        return  # who stands where is known there, and other rules ask the graph and the recorders
    judges = (_desync, _sequence, _silent, _launched, _lengths, _told)  # the surest first
    found = next((made for judge in judges if (made := judge(case)) is not None), None)
    if found is not None:
        yield replace(found, compared=True)


def _desync(case: Case) -> Finding | None:
    said = events(case, "torch.desync")
    if not said:
        return None
    missing = RankSet(rank for event in said for rank in _ints(event.fields.get("ranks")))
    number = said[0].fields.get("missing")
    return simple(
        RULE,
        f"{ranks_phrase(missing)} did not join collective #{number}",
        LIKELY,
        [event.text for event in said[:2]],
        _STEPS,
        missing,
    )


def _ints(value: object) -> tuple[int, ...]:
    return tuple(item for item in value if isinstance(item, int)) if isinstance(value, tuple) else ()


# Sends and receives are counted by pair: their numbers say nothing over ranks.
_PAIRS = ("SEND", "RECV", "COALESCED")


def _sequence(case: Case) -> Finding | None:
    """Time-outs of one group at different numbers, or from all ranks but some."""
    if in_several_groups(case):
        return None
    groups: dict[object, dict[int, tuple[int, str]]] = {}
    for event in timeouts(case):
        number = event.fields.get("seq")
        if event.fields.get("op") not in _PAIRS and event.rank is not None and isinstance(number, int):
            group = (event.fields.get("pg"), event.fields.get("pg_desc"), day(event))
            groups.setdefault(group, {}).setdefault(event.rank, (number, event.text))
    spoke, came = _spoke(case), _set_up(case)
    for told_ in sorted(groups.values(), key=len, reverse=True):
        if (made := _one_group(told_, spoke, came)) is not None:
            first = first_error(case)
            # Who failed did not only miss a call; failed_first tells of it.
            return made if first is None or first.rank not in made.ranks else None
    return None


def _spoke(case: Case) -> int:
    """The highest rank of which a line tells: there are that many, also where a copy lacks the lines of some."""
    return max((event.rank for event in case.events if event.rank is not None), default=0)


_FIRST = {0, 1}  # releases count from either


def _set_up(case: Case) -> RankSet:
    """The ranks that connected their channels: NCCL does so in the first call of a group (ProcessGroupNCCL makes its
    communicators lazily), so that they have come to it."""
    ranks = (event.fields.get("from") for event in events(case, "nccl.channel"))
    return RankSet(rank for rank in ranks if isinstance(rank, int))


def _one_group(said: dict[int, tuple[int, str]], spoke: int, came: RankSet) -> Finding | None:
    """What the numbers say at which the ranks of one group gave up; ``came`` came to the first call."""
    numbers = {number for number, _ in said.values()}
    lines = [line for _, line in said.values()][:3]
    if len(numbers) > 1:
        behind = RankSet(rank for rank, (number, _) in said.items() if number == min(numbers))
        stand = f"{ranks_phrase(behind)} {verb('stand', len(behind))}"
        return simple(RULE, f"{stand} at #{min(numbers)}, others at #{max(numbers)}", LIKELY, lines, _STEPS, behind)
    missing = RankSet(range(max(spoke, *said) + 1)) - RankSet(said) if len(said) > 2 else RankSet()
    if missing and len(missing) * 4 <= len(said) + 3 and not (numbers <= _FIRST and missing & came):
        report = f"{ranks_phrase(missing)} {verb('report', len(missing))} nothing"
        title = f"every rank but {missing} waits at #{min(numbers)}; {report}"
        return simple(RULE, title, LIKELY, lines, _STEPS, missing)
    return None


def _silent(case: Case) -> Finding | None:
    """Ranks that report no time-out although the others of the same run do: they were not in the call."""
    said = [
        one for one in events(case, "gloo.op_timeout", "torch.watchdog_timeout") if one.fields.get("op") not in _PAIRS
    ]
    waited = RankSet(event.rank for event in said if event.rank is not None)
    known = RankSet(
        event.rank
        for event in events(case, "elastic.failure", "elastic.root_cause", "gloo.op_timeout", "torch.watchdog_timeout")
        if event.rank is not None
    )
    missing = (known | RankSet(range(max(_spoke(case), *known, 0) + 1))) - waited
    if missing & _set_up(case) and {one.fields.get("seq") for one in said} <= _FIRST:
        return None
    failed = RankSet(
        event.rank for event in events(case, "python.exception") if event.rank is not None and event.rank in missing
    )
    if len(waited) < 2 or not missing or failed or len(missing) > len(waited):
        return None
    # A report cut by who posted it may lack ranks that were there.
    sure = LIKELY if 2 * len(missing) <= len(waited) or len(missing) == 1 or set(missing) <= set(known) else POSSIBLE
    title = f"{ranks_phrase(waited)} timed out in a collective; {ranks_phrase(missing)} {'was' if len(missing) == 1 else 'were'} not in it"
    return simple(RULE, title, sure, [event.text for event in said[:3]], _STEPS, missing)


def _launched(case: Case) -> Finding | None:
    """NCCL's own count of launched operations, the last one per process of one communicator size; a count that was cut tells
    of no last one."""
    if was_cut(case, "nccl.coll"):
        return None
    last: dict[object, dict[tuple[str | None, int | None], tuple[int, str]]] = {}
    for event in events(case, "nccl.coll"):
        number = event.fields.get("op_count")
        if isinstance(number, int):
            who = (event.host, event.pid)
            before = last.setdefault(event.fields.get("nranks"), {}).get(who, (-1, ""))
            last[event.fields.get("nranks")][who] = max(before, (number, event.text))
    for counts in last.values():
        low, high = min(value[0] for value in counts.values()), max(value[0] for value in counts.values())
        behind = [who for who, value in counts.items() if value[0] == low]
        if low < high and len(counts) > 2 and len(behind) * 2 <= len(counts):
            names = ", ".join(f"pid {pid} on {host}" for host, pid in behind[:4])
            return simple(
                RULE, f"{names} launched up to #{low}, the others up to #{high}", LIKELY, [counts[behind[0]][1]], _STEPS
            )
    return None


_LENGTH = regex(
    r"\b(?:(?P<count>\d+) (?:\w+ )?(?:batches|micro-?batches|steps|iterations|samples|shards|files)|"
    r"(?:len\(\w*loader\w*\)|num_(?:batches|samples|steps)|(?:data ?)?(?:loader|set|sampler) (?:length|size)|batches|"
    r"steps|iterations)\W{1,4}(?P<count_>\d+))\b",
    re.I,
)


_BARE = regex(
    r"(?:only )?(?:reads?|has|have|gets?|sees|runs?|does|did|makes?|made|got|had|with|processes)? ?(?:only )?(\d+)\W*$",
    re.I,
)


def _lengths(case: Case) -> Finding | None:
    """Ranks that each say once how much they have to do, and it is not the same."""
    if not halted(case):
        return None
    said: dict[int, list[tuple[int, str]]] = {}
    for rank, words, line in said_by_ranks(case):
        if found_in(words, _LENGTH) and (found := _LENGTH.search(words)):
            said.setdefault(rank, []).append((int(found["count"] or found["count_"]), words))
        elif found_in(line, _LENGTH) and (bare := _BARE.match(words)):
            said.setdefault(rank, []).append((int(bare[1]), words))  # what is counted was said of the rank before
    once = {rank: told[0] for rank, told in said.items() if len(told) == 1}
    if len(once) < 2 or len(once) < len(said) or len({number for number, _ in once.values()}) < 2:
        return None
    fewest = min(number for number, _ in once.values())
    short = RankSet(rank for rank, (number, _) in once.items() if number == fewest)
    because = [f"rank {rank}: {words}" for rank, (_, words) in sorted(once.items())[:4]]
    return simple(
        RULE, f"{ranks_phrase(short)} have less to do than the others: {fewest}", LIKELY, because, _STEPS, short
    )


# How people tell what they counted: "first node one more than the second".
_MORE = (
    r"\b(?:one|two|three|a few|several|some|\d{1,9}) (?:\w+ ){0,2}?(?:more|fewer|less)\b(?: \w+){0,3}? than "
    r"(?:the |that of (?:the )?|on (?:the )?)?(?:second|first|others?|another|rest|ranks?|nodes?|hosts?|peers?|workers?)\b"
)
_CALL = r"(?:barrier|all[ _-]?reduce|all[ _-]?gather|broadcast|all[ _-]?to[ _-]?all|reduce[ _-]?scatter|collective)\w*"
_COUNTS = regex(
    rf"\b(?:counts?|counted|numbers?|calls?|messages?)\b[^\n]{{0,40}}\b{_CALL}|\b{_CALL}[^\n]{{0,40}}\b(?:counts?|calls?|messages?|times)\b",
    re.I,
)


def _told(case: Case) -> Finding | None:
    """Somebody has counted calls of all ranks, and found more of them on one side."""
    for one in accounts(case) if halted(case) else ():
        said = one.mention(_MORE, prose=True)
        if said is not None and not said.doubted and _COUNTS.search(f"{one.label}\n{one.said}"):
            return simple(RULE, "one side has made more calls than the other", LIKELY, [said.line], _STEPS)
    return None


RULE = make_rule(__name__, __doc__, "collective-missed-by-rank", 44, check)
