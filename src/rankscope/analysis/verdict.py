"""Findings → diagnosis: order them, fold what another one explains, and take the first cause as the verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..model.diagnosis import GETS_ON, Certainty, Diagnosis, Finding, Kind, State, Step, Verdict
from ..model.process import ProcessRef, Role
from ..model.ranks import MOST_RANKS, RankSet
from .after_looks import files_of_looks, steps_after_looks
from .at_work import Well, moving_files, well
from .birth_order import humbly
from .case import Case
from .collectives.paths import diverge
from .doors import doors
from .dumped import one_look
from .endings import ended_well
from .fitting import fitting
from .folding import fold
from .heard import awaited_ends, heard, weighed
from .order import BY_ROW, GUESS, ORDER, PASSES, SLOW, in_order, outvoted, quotes
from .papers import papers
from .quoted import located
from .scene import absent
from .versions import listed
from .weakness import again_s, halts, weak, would_decide

# Their notes say that nothing tells why, which is untrue beside a cause.
_AT_A_LOSS = frozenset({"everybody-stands", "call-missed"})


def conclude(case: Case, findings: Iterable[Finding]) -> Diagnosis:
    """The diagnosis of a case from everything its rules said (in the order in which rules speak)."""
    findings = [left for one in findings if (left := _outlived(case, one)) is not None]
    findings = [weighed(case, humbly(case, finding)) for finding in findings]
    ordered = fold(case, in_order(case, findings))
    causes = _causes(case, ordered)
    notes = [one for one in ordered if one.kind is Kind.NOTE and not (causes and one.rule in _AT_A_LOSS)]
    slow = [note for note in notes if note.cls in SLOW]
    state = _state(case, causes, slow)
    verdict = _verdict(causes) or (_of_note(slow[0]) if slow and state is State.SLOW else None)
    undecided = verdict is None and (weak(case) or any(map(outvoted, notes)))
    snapshot = case.snapshot
    ranks, world_size = _who_is_in(case)
    told = (*causes, *(one for one in ordered if one.kind is Kind.SYMPTOM), *notes)
    if not snapshot.live:
        told = tuple(located(case, fitting(case, one)) for one in told)
    return Diagnosis(
        job=snapshot.job, state=state, world_size=world_size, ranks=ranks,
        hosts=tuple(host.name for host in snapshot.hosts), verdict=verdict,
        findings=told,
        collectives=case.collectives, waits=case.graph.waits, waits_unwritten=case.graph.unwritten,
        cycles=(*case.graph.cycles, *((process.ref,) for cause in causes if cause.circle for process in cause.processes)),
        gaps=snapshot.gaps, effort=snapshot.effort, processes=len(snapshot.processes),
        roster={member.ref: rank for rank, member in case.by_rank.items()}, evidence_weak=undecided,
        again_s=again_s(case) if undecided else None,
        deadlines=tuple(_deadlines(case)), next=_next(case, told, verdict, undecided),
        versions=listed(case), parted=diverge(case, RankSet(rank for one in causes for rank in one.ranks)),
    )  # fmt: skip


def _causes(case: Case, ordered: Iterable[Finding]) -> list[Finding]:
    """The causes; of equally certain ones of a live job first those that accuse somebody for whom others wait, or nobody."""
    causes = [finding for finding in ordered if finding.kind is Kind.CAUSE]
    awaited = _awaited(case, causes) if case.snapshot.live else set()
    if awaited:
        causes.sort(
            key=lambda cause: (ORDER[cause.certainty], (bool(cause.ranks) or heard(cause)) and id(cause) not in awaited)
        )
    return causes


def _who_is_in(case: Case) -> tuple[RankSet, int | None]:
    """The ranks of the job and its size; of saved texts also those whose lines bear their rank, though no process is shown.

    Where nobody tells the size of saved evidence, it is known of ranks that are there from 0 on without a gap, and of no others.
    """
    if case.snapshot.live:
        return case.ranks, case.world_size
    spoke = {event.rank for event in case.events if event.rank is not None and event.event in _BY_PREFIX}
    ranks = case.ranks | RankSet(rank for rank in spoke if rank < MOST_RANKS)
    told = case.snapshot.job.world_size or any(member.process.world_size for member in case.members)
    number = max(ranks, default=-1) + 1
    if told or 1 < len(ranks) == number:
        return ranks, max(case.world_size or 0, number) or None
    return ranks, None


# Their rank is that of the line's prefix; what else is read from lines may count within a group.
_BY_PREFIX = frozenset({"text.line", "python.exception"})


def _outlived(case: Case, finding: Finding) -> Finding | None:
    """A finding, unless it is a cause that rests on what is over, or passes: the run ended well, or gets on.

    Where a log gets on and stacks were looked at once, what these show stays a note: the log may have ended before. A row of a
    process table that tells all by itself stays as it is.
    """
    if finding.kind is not Kind.CAUSE:
        return finding
    if ended_well(case):
        return finding if finding.cls == "exit-hang" and finding.certainty is not Certainty.POSSIBLE else None
    health = well(case)
    passes = finding.cls in PASSES and not finding.compared and one_look(case)
    possible = finding.certainty is Certainty.POSSIBLE or passes
    if health is Well.UNKNOWN or (health is Well.SEEMS and not possible):
        return finding
    if not possible and (
        (finding.cls in BY_ROW and quotes(case, finding)) or (finding.cls in SLOW and finding.compared)
    ):
        return finding  # to get on, and far too slowly, is what it says
    if health is Well.SEEMS and (finding.compared or passes or quotes(case, finding)):
        return replace(finding, kind=Kind.NOTE, against=(*finding.against, GETS_ON))
    if health is Well.IS and not possible and finding.cls not in SLOW and _told_elsewhere(case, finding):
        return replace(finding, certainty=Certainty.POSSIBLE, against=(*finding.against, GETS_ON))
    return None


def _told_elsewhere(case: Case, finding: Finding) -> bool:
    """Whether what it rests on stands in files alone that do not get on."""
    over = files_of_looks(case) if steps_after_looks(case) else frozenset()
    moving, papery = moving_files(case), papers(case) | over
    reasons = [reason.text for reason in finding.because]
    files = {
        event.file
        for event in case.events
        if len(line := event.text.strip()[:_QUOTED]) > _LEAST_QUOTED and any(line in text for text in reasons)
    }
    return bool(files) and files.isdisjoint(moving | papery)


_QUOTED, _LEAST_QUOTED = 150, 8  # characters of a line: reasons are cut


def _deadlines(case: Case) -> Iterator[tuple[float, RankSet]]:
    """Ranks whose watchdogs give up in the same second, of a job that still runs."""
    by_second: dict[int, list[int]] = {}
    for rank, left in case.comparison.deadlines.items() if case.snapshot.live else ():
        by_second.setdefault(math.floor(left), []).append(rank)
    for second, ranks in sorted(by_second.items()):
        yield float(second), RankSet(ranks)


def _next(case: Case, findings: Sequence[Finding], verdict: Verdict | None, undecided: bool) -> tuple[Step | str, ...]:
    """The commands of the findings, each once; where nothing is decided, those that would bring what is missing."""
    steps: dict[Step | str, None] = dict.fromkeys(
        step for finding in findings if finding.kind is Kind.CAUSE or verdict or halts(case) for step in finding.next
    )
    guessed = any(finding.rule == GUESS for finding in findings)
    if guessed or undecided:
        steps.update(dict.fromkeys(would_decide(case)))
    if undecided or any(finding.collective for finding in findings):
        steps.update(dict.fromkeys(doors(case)))
    return tuple(steps)


def _awaited(case: Case, causes: list[Finding]) -> set[int]:
    """The causes (by ``id``) that accuse somebody for whom others wait; that a launcher minds its ranks is no such
    wait."""
    minding = {member.ref for member in case.with_role(Role.LAUNCHER)}
    roots = set(awaited_ends(case))

    def waited_for(ref: ProcessRef) -> bool:
        return ref in roots or any(wait.waiter not in minding for wait in case.graph.to(ref))

    return {id(cause) for cause in causes if any(map(waited_for, _accused(case, cause)))}


def _accused(case: Case, cause: Finding) -> Iterator[ProcessRef]:
    yield from (process.ref for process in cause.processes)
    for rank in cause.ranks:
        yield absent(rank)
        yield from (process.ref for process in case.of_rank(rank))


def _verdict(causes: list[Finding]) -> Verdict | None:
    if not causes:
        return None
    first = causes[0]
    ranks = RankSet()
    for cause in causes:
        # Several causes are rather several explanations; only those of one kind belong together, and possible ones of one rule.
        # What recorders show was told apart from what follows from it: their causes are independent.
        if cause.cls != first.cls and not (_of_recorders(cause) and _of_recorders(first)):
            continue
        if cause.certainty is first.certainty and (
            cause.certainty is not Certainty.POSSIBLE or cause.rule == first.rule
        ):
            ranks = ranks | cause.ranks
    return Verdict(first.cls, ranks, first.title, first.certainty)


def _of_recorders(finding: Finding) -> bool:
    return finding.rule.startswith("recorder-") and finding.collective is not None


def _of_note(note: Finding) -> Verdict:
    return Verdict(note.cls, note.ranks, note.title, note.certainty)


def _state(case: Case, causes: list[Finding], notes: list[Finding]) -> State:
    if not case.snapshot.live:
        if not causes and notes and case.comparison.late:  # recorders of two moments: the awaited rank moved
            return State.SLOW
        return State.EXITED if case.state is State.EXITED else State.UNKNOWN
    if any(cause.certainty is not Certainty.POSSIBLE for cause in causes) and case.state is not State.EXITED:
        return State.STUCK
    if not causes and notes and case.state is not State.EXITED:
        return State.SLOW
    return case.state
