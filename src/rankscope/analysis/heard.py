"""What only the log of a live job tells: it may be long over, and counts less than what is seen of the processes.

A log keeps the disk that was full until somebody made room, the try that was made again, the end of an earlier attempt. Where
a rule finds evidence of a process that agrees (a full mount, an error being handled, a count of the kernel), its finding rests
on more than the log.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ..model.diagnosis import Certainty, Finding, Kind, State
from ..model.process import ProcessRef, Role
from ..model.ranks import RankSet
from .accounts import OF_LOGS
from .case import Case
from .frame_tables import WaitKind
from .scene import is_absent

# What a process that suffers from it shows.
_SHOWN = {"storage-full", "shm-exhausted", "resource-limit", "oom-kill"}
# Of these waits only messages tell why they do not end.
_UNTOLD = {
    WaitKind.COLLECTIVE,
    WaitKind.P2P,
    WaitKind.BACKWARD,
    WaitKind.DEVICE,
    WaitKind.STORE,
    WaitKind.RENDEZVOUS,
    WaitKind.STORAGE,
    WaitKind.LIBRARY,
    WaitKind.UNKNOWN,
}
_AGAINST = "only a line of a log says so, which may be over, and nothing that is seen of the processes shows it"


def heard(finding: Finding) -> bool:
    """Whether a finding rests on the logs of a live job alone."""
    return bool(finding.because) and all(reason.evidence == OF_LOGS for reason in finding.because)


def weighed(case: Case, finding: Finding) -> Finding:
    """A finding; one that only a log tells is a mere possibility where what is seen should show it, or shows something else."""
    likely = finding.kind is Kind.CAUSE and finding.certainty is Certainty.LIKELY
    if not likely or not case.snapshot.live or not heard(finding) or _best_witness(case, finding.cls):
        return finding
    return dataclasses.replace(finding, certainty=Certainty.POSSIBLE, against=(*finding.against, _AGAINST))


def _best_witness(case: Case, cls: str) -> bool:
    """Whether nobody can tell better than the log: somebody has ended, or all stand where only messages tell why."""
    kinds = {case.standings[ref].kind for ref in awaited_ends(case) if ref in case.standings}
    if case.graph.cycles or kinds - _UNTOLD:
        return False
    return _ended(case) or (cls not in _SHOWN and case.state not in (State.MOVING, State.SLOW))


def awaited_ends(case: Case) -> Iterator[ProcessRef]:
    """Those in whom a chain of waiting ends; that a launcher minds its ranks is no such wait."""
    minding = {member.ref for member in case.with_role(Role.LAUNCHER)}
    yield from (root.ref for root in case.graph.roots if any(one not in minding for one in root.waiters))


def _ended(case: Case) -> bool:
    """Whether the job, a rank of it, or somebody who is waited for is not there any more."""
    missing = RankSet(case.ranks) - RankSet(case.by_rank)
    dead = any(member.dead for member in case.by_rank.values())
    gone = any(is_absent(ref) or (ref in case.by_ref and case.by_ref[ref].dead) for ref in awaited_ends(case))
    return case.state is State.EXITED or bool(missing) or dead or gone
