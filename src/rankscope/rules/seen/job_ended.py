"""The job is over: what is left of it says how each process ended.

## What it means
No rank lives any more. Some are zombies, because their parent has not collected them, or went away while we looked. Nothing
hangs in the program; something ended it.

## How it is recognised
Every rank, or every process but the launcher, is a zombie or has disappeared. The kernel keeps the exit status of a zombie: a
number the program gave, or the signal that killed it. SIGTERM and SIGKILL beside another end are taken for the launcher's own
cleaning up; SIGKILL may also have been the beginning, where memory ran out.

## What to do
Read the first exception in the log of the process that is named, and its `error.json` under torchrun's `--log-dir`. SIGKILL
without a word: `dmesg -T | grep -i oom`. A parent that does not collect its children is a defect of its own.

## How to prevent it
`@record` on `main`; a launcher that collects and reports the end of every rank.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

from ...analysis.case import Case, Member
from ...model.diagnosis import Certainty, Finding, Kind, Reason, State, Step
from ...model.evidence.environ import Environ
from ...model.process import Role
from ...model.ranks import RankSet
from .. import make_rule
from .._death import ended, killed, status
from .._say import who


def check(case: Case) -> Iterator[Finding]:
    if case.state is not State.EXITED or not case.snapshot.live:
        return
    bodies = [member for member in case if member.dead and member.role is not Role.HELPER]
    first = _first(bodies)
    told = first or bodies
    if not told:
        return
    doubts = tuple(_doubts(bodies, first))
    yield Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE if first else Kind.NOTE,
        certainty=Certainty.LIKELY if first and not doubts else Certainty.POSSIBLE,
        title=f"the job is over: {'; '.join(_ends(told))}",
        ranks=RankSet(member.rank for member in first if member.rank is not None),
        processes=tuple(member.process for member in told[:16]),
        because=tuple(Reason(f"{who(member.process)} {ended(member)}", "kernel", member.ref) for member in bodies[:8]),
        against=doubts,
        next=(*_logs(case), Step("dmesg -T | grep -iE 'out of memory|oom|segfault' | tail", told[0].ref)),
    )  # fmt: skip


# How launchers end the others: with SIGTERM, and whoever does not follow with SIGKILL.
_CLEANING = frozenset({signal.SIGTERM, signal.SIGKILL})


def _first(bodies: list[Member]) -> list[Member]:
    """Those who failed by themselves: beside a number that a program gave, and beside a crash, a launcher's signals are cleaning
    up; alone, SIGTERM is what is left to tell."""
    failed = {member.ref: code for member in bodies if (code := status(member))}
    own = {ref for ref, code in failed.items() if code & 0x7F not in _CLEANING}
    shot = {ref for ref, code in failed.items() if code & 0x7F == signal.SIGKILL}
    return [member for member in bodies if member.ref in (own or shot or failed)]


def _doubts(bodies: list[Member], first: list[Member]) -> Iterator[str]:
    """The kernel kills for want of memory, too, and the others then fail for the connection that they lost."""
    for member in bodies:
        if killed(member) and member not in first:
            yield f"{who(member.process)} was killed by SIGKILL: it may have been the first, if memory ran out"
            return


def _ends(told: list[Member]) -> Iterator[str]:
    """How each ended, those who ended alike together."""
    alike: dict[str, list[Member]] = {}
    for member in told:
        alike.setdefault(ended(member), []).append(member)
    for how, members in alike.items():
        yield f"{who(members[0].process)} {how}" + (f", like {len(members) - 1} more" if len(members) > 1 else "")


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


RULE = make_rule(__name__, __doc__, "dead-rank", 12, check, yields_to=("ranks-started-again",))
