"""Several processes announce the same rank, and other ranks of the world are announced by nobody.

## What it means
Each node numbered its processes by itself: the launcher of the scheduler started one process per node and the library started the others with the numbers of the
first node, or the local rank was used as the rank. The meeting waits for ranks that do not exist, and some processes join under one number.

## How it is recognised
Lines such as `GLOBAL_RANK: 1, MEMBER: 2/4` or `rank 1 of 4` that come twice with the same number, while others below the world's size never come.
What came before steps belongs to a run that got on: after a restart the first rank announces itself again. Ranks that a controller lists are there.

## What to do
Tell the scheduler how many processes a node has (`#SBATCH --ntasks-per-node=GPUS`, equal to `devices=` of the trainer), or start one launcher per node
(`srun --ntasks-per-node=1 torchrun --nnodes=… --nproc-per-node=… --rdzv-endpoint=…`). With own code: rank = node rank × processes per node + local rank.

## How to prevent it
Print `RANK`, `LOCAL_RANK` and `WORLD_SIZE` in the first line of the program. Case: https://github.com/Lightning-AI/pytorch-lightning/issues/6206
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ...analysis.accounts import accounts, outlived
from ...analysis.case import Case
from ...model.diagnosis import Finding
from ...model.patterns import regex
from ...model.ranks import RankSet, ranks_phrase
from .. import make_rule
from ._findings import simple
from ._signs import LIKELY

_STEPS = (
    "#SBATCH --ntasks-per-node=GPUS   # as many as the trainer's devices",
    "srun bash -c 'echo $SLURM_PROCID $SLURM_LOCALID $(hostname)'",
)
_SAYS = regex(
    r"\bGLOBAL_RANK: (?P<rank>\d+), MEMBER: \d+/(?P<world>\d+)|\b(?:global[ _]?|world[ _]?)?rank[ =:]{1,2}(?P<rank_>\d+)(?: of | ?/ ?|,? (?:and )?world[ _]size[ =:]{1,2})(?P<world_>\d+)\b|"
    r"\bRANK[=:] ?(?P<rank__>\d+)\b[^\n]{0,80}\bWORLD_SIZE[=:] ?(?P<world__>\d+)|distributed init \(rank (?P<rank___>\d+)\)[^\n]*(?:world_size|gpus?)[ =:]+(?P<world___>\d+)",
    re.I,
)
# What a controller lists of those that it started (Ray Train: `world_rank=4, local_rank=0, node_rank=1`); one rank alone may announce the world.
_LISTED = regex(r"\bworld_rank[=:] ?(?P<rank>\d{1,6}), local_rank[=:]")
_MOST = 1 << 16


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live:
        return
    speak = RankSet(event.rank for event in case.events if event.rank is not None)
    for account in accounts(case):
        said: dict[int, Counter[int]] = {}
        there: set[int] = set()
        for event in {(one.file, one.line): one for one in account.events}.values():
            if "worker_count" in event.text:
                continue  # it counts who came to its meeting point, also of other runs
            if (listed := _LISTED.search(event.text)) is not None:
                there.add(int(listed["rank"]))
            if outlived(case, event):
                continue  # that run made steps: who came then is no other process of a later one
            if (found := _SAYS.search(event.text)) is not None:
                rank, world = (int(text) for text in found.groups() if text is not None)
                if rank < world < _MOST:
                    said.setdefault(world, Counter())[rank] += 1
        for world, times in said.items():
            twice = RankSet(rank for rank, count in times.items() if count > 1)
            absent = RankSet(range(world)) - RankSet(times) - speak - RankSet(there)
            # One process may announce itself twice; then all do.
            if twice and absent and len(absent) >= len(twice):
                title = f"{ranks_phrase(twice)} come more than once, and {ranks_phrase(absent)} of {world} not at all"
                yield simple(RULE, title, LIKELY, [title], _STEPS, absent)
                return


RULE = make_rule(__name__, __doc__, "rank-never-joined", 53, check)
