"""Phrases and judgements that rules about live jobs share."""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.case import Case, Member, Root
from ..analysis.frame_tables import WaitKind
from ..analysis.handled import in_words
from ..analysis.load import RUNS
from ..analysis.own_age import own_s, seen_asking_again
from ..analysis.scene import is_absent
from ..analysis.standing import Standing
from ..model.diagnosis import Certainty, Reason
from ..model.evidence.stacks import Frame
from ..model.evidence.threads import Threads
from ..model.process import Process, ProcessRef, Role
from ..model.ranks import RankSet, ranks_phrase
from ..model.words import counted, span, verb


def roots(case: Case) -> Iterator[tuple[Root, Standing]]:
    """Where chains of waiting end in a living process."""
    for root in case.graph.roots:
        standing = case.standings.get(root.ref)
        if standing is not None and not is_absent(root.ref):
            yield root, standing


def old_roots(case: Case) -> Iterator[tuple[Root, Standing]]:
    """The living ends of chains that have been waited for long enough to count, or for an unknown time."""
    for root, standing in roots(case):
        if root.age_s is None or case.stuck(root.age_s):
            yield root, standing


def pointed_at(case: Case, standing: Standing) -> bool:
    """Whether this is the one program of no job that somebody asked about."""
    return case.snapshot.job.launcher == "none" and standing.member.ref == case.snapshot.job.root


def certainty(case: Case, root: Root, standing: Standing, best: Certainty = Certainty.LIKELY) -> Certainty:
    """The best a rule can say, or *possible* when nothing tells how long this has lasted or who is accused has just come."""
    return best if case.stuck(root.age_s) and not any(just_come(case, standing)) else Certainty.POSSIBLE


def just_come(case: Case, standing: Standing) -> Iterator[str]:
    """What speaks against one that has stood like this for less than ``--stuck-after``: those who wait for it may have come long
    before it. One that asks again and again may have done so for as long as they wait."""
    own = own_s(standing)
    if own is None or case.stuck(own) or seen_asking_again(standing):
        return
    since = "moved between the looks" if standing.moved else f"has been there for {span(own)} only"
    yield f"its thread {since}: what it waits for may be on its way"


def who(process: Process) -> str:
    """A process as people name it."""
    where = f" ({process.ref.spoken})" if process.ref.spoken else ""
    if process.role is Role.RANK and process.rank is not None:
        return f"rank {process.rank}{where}"
    if process.role is Role.DATALOADER_WORKER:
        number = f" {process.worker}" if process.worker is not None else ""
        owner = f" of rank {process.rank}" if process.rank is not None else ""
        return f"loader worker{number}{owner}{where}"
    if process.rank is not None:
        return f"{process.comm or 'a process'} of rank {process.rank}{where}"
    return f"{process.comm or 'process'}{where}"


def name(case: Case, ref: ProcessRef) -> str:
    """A member by reference, as people name it."""
    member = case.by_ref.get(ref)
    return who(member.process) if member else (f"rank {ref.pid}" if is_absent(ref) else str(ref))


def at(frame: Frame | None) -> str:
    """A place in the code."""
    if frame is None:
        return "a place outside the job's own code"
    return f"{frame.function} ({frame.file.rsplit('/', 1)[-1]}:{frame.line})"


def stands(standing: Standing) -> Reason:
    """Where a process stands and since when, as a reason."""
    age = _age(standing)
    doing = {
        WaitKind.SLEEP: "sleeps", WaitKind.USER: "runs", WaitKind.LIBRARY: "is", WaitKind.LOCK: "waits for a lock or condition",
        WaitKind.INPUT: "waits for input", WaitKind.SOCKET: "waits on a socket or poll", WaitKind.PIPE: "waits on a pipe",
        WaitKind.STORAGE: "waits for a file system",
    }.get(standing.kind, f"is in {standing.wait.op or standing.kind.value}")  # fmt: skip
    if standing.user_frame is not None and doing == f"is in {standing.user_frame.function}":
        doing = "is"
    return Reason(f"{who(standing.member.process)} {doing} in {at(standing.user_frame)}; its thread {age}",
                  "python-stack", standing.member.ref)  # fmt: skip


def handling(standing: Standing) -> tuple[Reason, ...]:
    """The error in whose handler it stands, if it does: why it tries again."""
    error = in_words(standing)
    return (Reason(f"it is handling {error}", "memory", standing.member.ref),) if error else ()


def _age(standing: Standing) -> str:
    if standing.busy > RUNS:
        return f"uses {standing.busy:.0%} of a CPU"
    if standing.ran:
        return "wakes from time to time but does not leave this place"
    if standing.still_s is None:
        return "was looked at once"
    return f"has not run for {span(standing.still_s)}"


def is_old(case: Case, member: Member) -> bool:
    """Whether a process has run for longer than counts as stuck: one that knocks never stands still, and one that has just begun
    may find its peer in a moment."""
    seen = member.latest(Threads)
    return seen is not None and case.stuck(seen.uptime_s)


_TOLD_S = 1.0  # who asks again and again has waited for longer than since it asked last


def waited_for(root: Root) -> list[Reason]:
    """Who waits for it, and since when."""
    if not root.waiters:
        return []
    whom = (
        f"{ranks_phrase(root.ranks)} {verb('wait', len(root.ranks))}"
        if root.ranks
        else f"{counted(len(root.waiters), 'process')} {verb('wait', len(root.waiters))}"
    )
    since = f" (the longest for {span(root.age_s)})" if root.age_s is not None and root.age_s >= _TOLD_S else ""
    return [Reason(f"{whom} for it{since}", "wait-for graph")]


def ranks_of(standing: Standing) -> RankSet:
    """The rank a process is or serves, as a set."""
    rank = standing.member.rank
    return RankSet([rank] if rank is not None else [])
