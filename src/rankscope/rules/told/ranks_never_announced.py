"""A log ends with the words of some ranks that they have come; the others of their world never say so.

## What it means
Those that came wait at the meeting for ranks that may not exist: the scheduler was told of several processes and
started one, or the launcher was given another count than the program expects.

## How it is recognised
The last line of a log is an announcement such as `Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/4`, and no line
of the case speaks for the other ranks. A log of one rank alone ends so as well; therefore it is only possible, unless
somebody tells that nothing follows.

## What to do
Count the processes on each host (`pgrep -fa python`), and start as many as the world has: `srun` with
`--ntasks-per-node` equal to the trainer's `devices`, or without the scheduler's variables, so that the library starts
its own (`unset SLURM_NTASKS SLURM_PROCID`):

    srun bash -c 'echo $SLURM_PROCID of $SLURM_NTASKS on $(hostname)'   # one line for each rank that exists

## How to prevent it
Print `RANK` and `WORLD_SIZE` in the first line of the program, and start it by one launcher only.
Case: https://github.com/microsoft/mattergen/issues/188
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.accounts import Account, accounts
from ...analysis.case import Case
from ...model.diagnosis import Finding
from ...model.evidence.events import Event
from ...model.ranks import RankSet, ranks_phrase
from .. import make_rule
from ._announced import announced
from ._findings import simple
from ._signs import LIKELY, POSSIBLE
from ._wordings import HALTS

_STEPS = (
    "pgrep -fa python   # on each host: is there a process for each rank?",
    "srun bash -c 'echo $SLURM_PROCID of $SLURM_NTASKS on $(hostname)'",
)

# Who says so has looked at the log of all.
_NOTHING_FOLLOWS = HALTS + r"|\blast line\b"


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live or case.members:
        return  # who is there was seen
    for account in accounts(case):
        for one in announced(case, account):
            if one.absent and _ends_with(account, one.last):
                title = f"{ranks_phrase(one.absent)} of {one.world} never announced themselves"
                because = [
                    one.last.text,
                    f"nothing follows, and nobody but {ranks_phrase(RankSet(one.times))} has come",
                ]
                sure = LIKELY if any(other.find(_NOTHING_FOLLOWS, prose=True) for other in accounts(case)) else POSSIBLE
                yield simple(RULE, title, sure, because, _STEPS, one.absent)
                return


def _ends_with(account: Account, last: Event) -> bool:
    """Whether nothing comes after a line in its file."""
    return all(one.line <= last.line for one in account.events if one.file == last.file and one.text.strip())


RULE = make_rule(__name__, __doc__, "rank-never-joined", 53, check)
