"""Ranks make the same calls, in another order.

## What it means
Every rank takes part in every call, but some post two of them the other way round. On one communicator the wrong calls meet; on two of them
(or on NCCL beside a library with kernels of its own) each side waits in the call that the other one makes second.

## How it is recognised
Calls listed rank by rank, with the same names in another order (`rank 0: dispatch, combine` and `rank 8: combine, dispatch`); or code in which one and the
same call stands below a condition on the rank and again below the opposite one, with another call of all ranks between them.

## What to do
One order for all ranks: take the call out of the conditions. On the device the order of launches counts, not that of the program: one stream, or events that
order two (`stream.wait_event(...)`); with several communicators `NCCL_LAUNCH_ORDER_IMPLICIT=1` (NCCL 2.26 and later).

## How to prevent it
No choice of a rank which call goes first; one event for each pair of calls, not one for all. Mechanism: https://github.com/NVIDIA/Megatron-LM/issues/1810,
https://github.com/deepseek-ai/DeepEP/issues/496
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
from collections.abc import Iterator

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.pasted_code import Section, sections
from ...model.diagnosis import Finding
from ...model.patterns import regex
from ...model.ranks import RankSet
from ...model.repeated import of_texts
from .. import make_rule
from ._findings import simple
from ._lines import said_by_ranks
from ._signs import LIKELY
from ._wordings import halted

_CALL = regex(
    r"\b\w*(?:all_?reduce|all_?gather|reduce_?scatter|broadcast|barrier|all_?to_?all|dispatch|combine|rendezvous|"
    r"new_group|psum)\w*(?=[\s(#,;:.]|$)",
    re.IGNORECASE,
)
_STEPS = (
    "TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun …",
    "NCCL_LAUNCH_ORDER_IMPLICIT=1 torchrun …   # NCCL 2.26 and later",
)
_MOST = 64  # blocks that are compared with each other
_TITLE = "ranks make the same calls in another order"


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live or case.collectives or not halted(case):
        return
    found = _told(case) or _coded(case)
    if found is not None:
        yield found


def _told(case: Case) -> Finding | None:
    """Calls that are listed rank by rank."""
    orders: dict[int, tuple[str, ...]] = {}
    first: dict[tuple[str, ...], int] = {}
    lines: dict[int, str] = {}
    for rank, words, _ in said_by_ranks(case):
        names = _calls_in(words)
        if len(names) > 1 and ".py" not in words and rank not in orders:
            orders[rank], lines[rank] = names, f"rank {rank}: {words}"
            other = first.setdefault(tuple(sorted(names)), rank)
            if orders[other] != names:
                return simple(RULE, _TITLE, LIKELY, [lines[other], lines[rank]], _STEPS, RankSet())
    return None


@of_texts
def _calls_in(words: str) -> tuple[str, ...]:
    """The calls that are named, each once."""
    return tuple(dict.fromkeys(name.lower() for name in _CALL.findall(words)))


def _coded(case: Case) -> Finding | None:
    """A call below a condition on the rank and below another one, with a call of all between them."""
    for account in accounts(case):
        blocks = [one for one in sections(account.code) if _RANK.search(one.head)]
        blocks = [one for one in blocks if any(map(_CALL.search, one.body))][:_MOST]
        for first in blocks:
            for second in blocks:
                if first.head != second.head and second.head in first.after and (call := _both(first, second)):
                    between = first.after[: first.after.index(second.head)]
                    if any(_CALL.search(line) for line in between):
                        because = [f"{first.head} {call}", *between[:1], f"{second.head} {call}"]
                        return simple(RULE, _TITLE, LIKELY, because, _STEPS)
    return None


_RANK = regex(r"\brank\b|process_index|process_id|\bis_main|\bis_master", re.IGNORECASE)


def _both(first: Section, second: Section) -> str | None:
    """A call that stands in both blocks."""
    mine = {found.group() for line in first.body if (found := _CALL.search(line))}
    theirs = {found.group() for line in second.body if (found := _CALL.search(line))}
    return min(mine & theirs, default=None)


RULE = make_rule(__name__, __doc__, "collective-mismatch", 39, check)
