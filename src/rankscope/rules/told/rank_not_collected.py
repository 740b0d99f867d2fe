"""Of the ranks below one launcher one has ended and was not collected, and the others wait.

## What it means
A rank was killed or crashed. Its launcher waits for another one first (`process.join()` in turn, `wait` in a shell), so that it
does not learn of it, and the other ranks wait in a collective, or in the store, for one that is gone.

## How it is recognised
A process table with parents (or the table of one parent's children, `ps --ppid`) shows one child of the launcher in state Z, and
its other children, of which stacks were seen, are ranks at rest; where the kernel tells that the one that has ended crashed,
they may spin. Where most of the ranks have ended, the one that has not is the odd one: it may not come out of its end.

## What to do
Look for the first error in the log of the rank that has ended, and `dmesg -T | grep -i -e segfault -e oom`. End the others: they
cannot go on.

## How to prevent it
A launcher that watches all of its ranks: torchrun, `torch.multiprocessing.spawn`, `srun --kill-on-bad-exit`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...analysis.case import Case
from ...model.diagnosis import Finding
from ...model.ranks import RankSet
from .. import make_rule
from ._findings import simple
from ._kin import Kin, uncollected
from ._signs import LIKELY

_STEPS = (
    "dmesg -T | grep -i -e segfault -e oom | tail",
    "look for the first error in the log of the rank that has ended",
)


def check(case: Case) -> Iterator[Finding]:
    for kin in uncollected(case):
        leaving = any(one.ends if kin.crashed else one.leaves for one in kin.living)
        if kin.of_ranks and len(kin.living) >= len(kin.dead) and not leaving:
            yield _finding(kin)


def _finding(kin: Kin) -> Finding:
    gone = _left_out(kin)
    who = f"rank {gone}" if gone else "a rank"
    pids = ", ".join(str(one.pid) for one in kin.dead[:4])
    waiting = kin.living[0]
    leaf = waiting.main.stack[-1]
    because = (
        kin.dead[0].text.strip(),
        f"{waiting.name}, child of the same parent, stands in {leaf.function} ({leaf.file}:{leaf.line})",
    )
    title = f"{who} (pid {pids}) has ended and was not collected, and the others wait"
    return replace(simple(RULE, title, LIKELY, because, _STEPS, gone), compared=True)


def _left_out(kin: Kin) -> RankSet:
    """The rank of the one that has ended: the only one that is missing among the others."""
    living = RankSet(rank for one in kin.living for rank in one.account.ranks)
    if len(living) != len(kin.living) or kin.unseen:
        return RankSet()
    missing = RankSet(range(len(living) + len(kin.dead))) - living
    return missing if len(missing) == len(kin.dead) else RankSet()


RULE = make_rule(__name__, __doc__, "dead-rank", 36, check)
