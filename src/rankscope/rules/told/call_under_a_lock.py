"""One rank stands in a call of all, inside a section that the others wait to enter.

## What it means
A rank took a lock (of a file, of a cache, of a store) and calls a barrier or another collective before it lets go. Its peers
stand at the same lock, so that they never come to the call. Each side waits for the other.

## How it is recognised
Stacks: a rank in a collective came there through a function in which the others stand in the taking of a lock
(`acquire`, `flock`, `FileLock.__enter__`). It has passed the line where they wait.

## What to do
Let go of the lock before the call, or make the call before the lock is taken: one rank builds under the lock, all meet
behind it. The stacks name both lines; who has the lock is shown by

    rankscope diagnose        # on the host: names the holder of the lock
    cat /proc/locks; lsof LOCKFILE

## How to prevent it
No collective inside `with lock:`. Locks are for ranks that come one after the other, collectives for ranks that come together.
Mechanism: https://github.com/pmodels/mpich/issues/1997
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...analysis.case import Case
from ...analysis.doings import Doing, doings, in_kind, of_ranks, way
from ...analysis.dumped import one_look
from ...model.diagnosis import Finding
from ...model.patterns import regex
from ...model.ranks import RankSet, ranks_phrase
from .. import make_rule
from ._findings import simple
from ._roll_call import WAITING
from ._signs import LIKELY, POSSIBLE

_TAKES = regex(r"(?:^|[._])(?:acquire\w*|flock|lockf)$|[Ll]ock\w*\.__(?:a?enter)__$")
_STEPS = (
    "let go of the lock before the call: one rank builds under it, all meet behind it",
    "rankscope diagnose   # on the host: names the holder of the lock",
)


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live:
        return  # who holds what is known there
    seen = [doing for doing in doings(case) if doing.account is not None and doing.account.seen and of_ranks(doing)]
    outside = [doing for doing in seen if (functions := _functions(doing)) and _TAKES.search(functions[-1])]
    for doing in in_kind(seen, *WAITING):
        for other in outside:
            before = _functions(other)[:-1]
            if len(before) > 1 and way(doing)[: len(before)] == before and len(way(doing)) > len(before):
                title = (
                    f"{_who([doing])}, in {doing.op}, passed the lock at which {_who(outside)} stand, in {before[-1]}"
                )
                made = simple(
                    RULE, title, POSSIBLE if one_look(case) else LIKELY, [doing.site, other.site], _STEPS, doing.ranks
                )
                yield replace(made, compared=True)
                return


def _functions(doing: Doing) -> tuple[str, ...]:
    """The functions of the main thread down to where it stands, outermost first."""
    main = doing.main
    return tuple(frame.function for frame in main.stack) if main is not None else ()


def _who(doings: Sequence[Doing]) -> str:
    """Ranks where they are known, else processes, of many the first ones."""
    ranks = RankSet(rank for doing in doings for rank in doing.ranks)
    if ranks:
        return ranks_phrase(ranks)
    names = [ref.spoken for doing in doings if doing.account is not None for ref in doing.account.refs]
    return ", ".join(names[:_NAMED]) + (" …" if len(names) > _NAMED else "")


_NAMED = 4


RULE = make_rule(__name__, __doc__, "lock-order-deadlock", 33, check)
