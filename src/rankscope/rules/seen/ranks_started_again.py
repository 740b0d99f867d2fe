"""The elastic agent starts the ranks again and again, and they fail soon after they began.

## What it means
torchrun starts all ranks anew when one of them fails, as often as `--max-restarts` says. Where the reason is still there (a
wrong option, a file that is missing, a corrupt checkpoint), the job goes round in circles: each look meets young ranks that
seem to begin.

## How it is recognised
The ranks' own environment counts the restarts (`TORCHELASTIC_RESTART_COUNT`): three or more, of which none lasted long, and those
that run now are not older than usual.

## What to do
Read the first traceback of an attempt in the job's output, or `error.json` under torchrun's `--log-dir`.

## How to prevent it
A small `--max-restarts`; `@record` on `main`; checks of options and files before the ranks are started.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...analysis.restarts import restarts
from ...model.diagnosis import Certainty, Finding, Kind, Reason
from ...model.process import Role
from ...model.ranks import RankSet
from ...model.words import span
from .. import make_rule
from .._death import ended, status
from .._say import who


def check(case: Case) -> Iterator[Finding]:
    found = restarts(case)
    if found is None:
        return
    failed = [member for member in case.with_role(Role.RANK) if member.dead and status(member)]
    yield Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
        title=f"{who(found.agent.process)} has started its ranks again {found.count} times in {span(found.in_s)}: they fail soon "
              "after they began",
        ranks=RankSet(member.rank for member in failed if member.rank is not None),
        processes=(found.agent.process, *(member.process for member in failed[:16])),
        because=(
            Reason(f"TORCHELASTIC_RESTART_COUNT of its ranks is {found.count}", "environ", found.agent.ref),
            Reason(f"the ranks that were seen began {span(found.age_s)} ago" if found.age_s else
                   "the ranks that were found had ended before they could be looked at", "kernel", found.agent.ref),
            *(Reason(f"{who(member.process)} {ended(member)}", "kernel", member.ref) for member in failed[:8]),
        ),
        next=("look for the first exception in a rank's log",),
    )  # fmt: skip


RULE = make_rule(__name__, __doc__, "dead-rank", 8, check)
