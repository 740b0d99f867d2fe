"""The job is over: what is left of it says how each process ended.

## What it means
No rank lives any more. Some are zombies, because their parent has not collected them, or went away while we looked. Nothing
hangs in the program; something ended it.

## How it is recognised
Every rank, or every process but the launcher, is a zombie or has disappeared. The kernel keeps the exit status of a zombie: a
number the program gave, or the signal that killed it. SIGTERM beside another end is the launcher's own cleaning up.

## What to do
Read the first exception in the log of the process that is named, and its `error.json` under torchrun's `--log-dir`. SIGKILL
without a word: `dmesg -T | grep -i oom`. A parent that does not collect its children is a defect of its own.

## How to prevent it
`@record` on `main`; a launcher that collects and reports the end of every rank.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

from ..analysis.case import Case, Member
from ..model.diagnosis import Certainty, Finding, Kind, Reason, State
from ..model.evidence.environ import Environ
from ..model.process import Role
from ..model.ranks import RankSet
from . import Rule
from ._death import ended, status
from ._say import who


def check(case: Case) -> Iterator[Finding]:
    if case.state is not State.EXITED or not case.snapshot.live:
        return
    bodies = [member for member in case if member.dead and member.role is not Role.HELPER]
    failed = [member for member in bodies if status(member)]
    first = [member for member in failed if (status(member) or 0) & 0x7F != signal.SIGTERM] or failed
    told = first or bodies
    if not told:
        return
    more = f" and {len(told) - 1} more" if len(told) > 1 else ""
    yield Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE if first else Kind.NOTE,
        certainty=Certainty.LIKELY if first else Certainty.POSSIBLE,
        title=f"the job is over: {who(told[0].process)}{more} {ended(told[0])}",
        ranks=RankSet(member.rank for member in first if member.rank is not None),
        processes=tuple(member.process for member in told[:16]),
        because=tuple(Reason(f"{who(member.process)} {ended(member)}", "kernel", member.ref) for member in bodies[:8]),
        next=(*_logs(case), "dmesg -T | grep -iE 'out of memory|oom|segfault' | tail"),
    )  # fmt: skip


def _logs(case: Case) -> Iterator[str]:
    """Where torchrun keeps the files of this attempt."""
    for member in case:
        path = _error_file(member)
        if path:
            yield f"ls -l {path.rsplit('/', 2)[0]}/*/"
            return


def _error_file(member: Member) -> str:
    environ = member.latest(Environ)
    return environ.values.get("TORCHELASTIC_ERROR_FILE", "") if environ else ""


RULE = Rule(id="job-ended", cls="dead-rank", check=check, page=__doc__ or "", order=12)
