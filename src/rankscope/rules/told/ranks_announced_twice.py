"""Several processes announce the same rank, and other ranks of the world are announced by nobody.

## What it means
Each node numbered its processes by itself: the launcher of the scheduler started one process per node and the library
started the others with the numbers of the first node, or the local rank was used as the rank. The meeting waits for
ranks that do not exist, and some processes join under one number.

## How it is recognised
Lines such as `GLOBAL_RANK: 1, MEMBER: 2/4` or `rank 1 of 4` that come twice with the same number, while others below
the world's size never come. What came before steps belongs to a run that got on: after a restart the first rank
announces itself again. Ranks that a controller lists are there.

## What to do
Tell the scheduler how many processes a node has (`#SBATCH --ntasks-per-node=GPUS`, equal to `devices=` of the
trainer), or start one launcher per node (`srun --ntasks-per-node=1 torchrun --nnodes=… --nproc-per-node=…
--rdzv-endpoint=…`). With own code: rank = node rank × processes per node + local rank.

## How to prevent it
Print `RANK`, `LOCAL_RANK` and `WORLD_SIZE` in the first line of the program.
Case: https://github.com/Lightning-AI/pytorch-lightning/issues/6206
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...model.diagnosis import Finding
from ...model.ranks import RankSet, ranks_phrase
from .. import make_rule
from ._announced import announced
from ._findings import simple
from ._signs import LIKELY

_STEPS = (
    "#SBATCH --ntasks-per-node=GPUS   # as many as the trainer's devices",
    "srun bash -c 'echo $SLURM_PROCID $SLURM_LOCALID $(hostname)'",
)


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live:
        return
    for account in accounts(case):
        for one in announced(case, account):
            twice = RankSet(rank for rank, count in one.times.items() if count > 1)
            # One process may announce itself twice; then all do.
            if twice and one.absent and len(one.absent) >= len(twice):
                title = f"{ranks_phrase(twice)} come more than once, and {ranks_phrase(one.absent)} of {one.world} not at all"
                yield simple(RULE, title, LIKELY, [title], _STEPS, one.absent)
                return


RULE = make_rule(__name__, __doc__, "rank-never-joined", 53, check)
