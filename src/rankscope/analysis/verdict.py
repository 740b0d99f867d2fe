"""Findings → diagnosis: order them, fold what another one explains, and take the first cause as the verdict."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..model.diagnosis import Certainty, Diagnosis, Finding, Kind, State, Step, Verdict
from ..model.evidence.events import Event
from ..model.evidence.stacks import NativeStacks, PythonStacks
from ..model.gap import Why
from ..model.labels import who
from ..model.process import ProcessRef, Role
from ..model.ranks import RankSet
from .at_work import Well, well
from .away import away
from .birth_order import humbly
from .case import Case
from .collectives.paths import diverge
from .doors import doors
from .endings import ended_well
from .heard import awaited_ends, heard, weighed
from .in_sight import moves
from .order import GUESS, ORDER, SLOW, in_order
from .scene import absent
from .stillness import stand_long

# A finding that names who is absent from a collective is explained by any finding that says why that rank is absent.
_EXPLAINABLE = {
    "collective-missed-by-rank",
    "dead-rank",
    "stuck-below-program",
    "collective-cycle",
    "rank-never-joined",
}

# In a running job the same holds for where a rank stands: whom it waits for there says more.
_EXPLAINABLE_LIVE = _EXPLAINABLE | {"rank-stuck-in-user-code", "exit-hang", "dataloader-worker-deadlock"}

# Who is missing is vaguer than where it stands, and that is vaguer than whom it waits for there.
_VAGUE = {
    "stuck-below-program": 4, "collective-cycle": 3, "rank-never-joined": 3, "collective-missed-by-rank": 3,
    "rank-stuck-in-user-code": 2, "exit-hang": 1, "dataloader-worker-deadlock": 1, "dead-rank": 0,
}  # fmt: skip


# Their notes say that nothing tells why, which is untrue beside a cause.
_AT_A_LOSS = frozenset({"everybody-stands"})


def conclude(case: Case, findings: Iterable[Finding]) -> Diagnosis:
    """The diagnosis of a case from everything its rules said (in the order in which rules speak)."""
    explainable = _EXPLAINABLE_LIVE if case.snapshot.live else _EXPLAINABLE
    findings = [one for one in findings if one.kind is not Kind.CAUSE or not _past(case, one)]
    findings = [weighed(case, humbly(case, finding)) for finding in findings]
    ordered = _fold(in_order(case, findings), explainable)
    causes = [finding for finding in ordered if finding.kind is Kind.CAUSE]
    awaited = _awaited(case, causes) if case.snapshot.live else set()
    if awaited:
        causes.sort(
            key=lambda cause: (ORDER[cause.certainty], (bool(cause.ranks) or heard(cause)) and id(cause) not in awaited)
        )
    notes = [one for one in ordered if one.kind is Kind.NOTE and not (causes and one.rule in _AT_A_LOSS)]
    slow = [note for note in notes if note.cls in SLOW]
    state = _state(case, causes, slow)
    verdict = _verdict(causes) or (_of_note(slow[0]) if slow and state is State.SLOW else None)
    snapshot = case.snapshot
    told = (*causes, *(one for one in ordered if one.kind is Kind.SYMPTOM), *notes)
    return Diagnosis(
        job=snapshot.job, state=state, world_size=case.world_size, ranks=case.ranks,
        hosts=tuple(host.name for host in snapshot.hosts), verdict=verdict,
        findings=told,
        collectives=case.collectives, waits=case.graph.waits, waits_unwritten=case.graph.unwritten,
        cycles=(*case.graph.cycles, *((process.ref,) for cause in causes if cause.circle for process in cause.processes)),
        gaps=snapshot.gaps, effort=snapshot.effort, processes=len(snapshot.processes),
        roster={member.ref: rank for rank, member in case.by_rank.items()}, evidence_weak=verdict is None and _weak(case),
        deadlines=tuple(_deadlines(case)), next=_next(case, told, verdict),
        parted=diverge(case, RankSet(rank for one in causes for rank in one.ranks)),
    )  # fmt: skip


def _past(case: Case, cause: Finding) -> bool:
    """Whether what a cause rests on is over, or passes: the run ended well, unless it is its end that hangs, or it gets on."""
    if ended_well(case):
        return cause.cls != "exit-hang" or cause.certainty is Certainty.POSSIBLE
    health = well(case)
    return health is Well.IS or (health is Well.SEEMS and cause.certainty is Certainty.POSSIBLE)


def _deadlines(case: Case) -> Iterator[tuple[float, RankSet]]:
    """Ranks whose watchdogs give up in the same second, of a job that still runs."""
    by_second: dict[int, list[int]] = {}
    for rank, left in case.comparison.deadlines.items() if case.snapshot.live else ():
        by_second.setdefault(math.floor(left), []).append(rank)
    for second, ranks in sorted(by_second.items()):
        yield float(second), RankSet(ranks)


def _next(case: Case, findings: Sequence[Finding], verdict: Verdict | None) -> tuple[Step | str, ...]:
    """The commands of the findings, each once; without a verdict, those that would bring what is missing."""
    steps: dict[Step | str, None] = dict.fromkeys(
        step for finding in findings if finding.kind is Kind.CAUSE or verdict or _halts(case) for step in finding.next
    )
    guessed = any(finding.rule == GUESS for finding in findings)
    if guessed or (verdict is None and _weak(case)):
        steps.update(dict.fromkeys(_would_decide(case)))
    if (verdict is None and _weak(case)) or any(finding.collective for finding in findings):
        steps.update(dict.fromkeys(doors(case)))
    return tuple(steps)


def _halts(case: Case) -> bool:
    """Whether nothing of a running job was seen to move: then a note, too, tells where to look next."""
    return case.snapshot.live and case.state in (State.STUCK, State.UNKNOWN)


def _would_decide(case: Case) -> Iterator[str]:
    """What to gather when the evidence does not decide."""
    if case.snapshot.live:
        if any(gap.why is Why.DENIED for gap in case.snapshot.gaps):
            yield "sudo -E rankscope diagnose        # as the job's user or root"
        yield "rankscope doctor                  # says what can be seen here, and why not"
        return
    if not any(member.latest(PythonStacks) or member.latest(NativeStacks) for member in case):
        yield "rankscope diagnose pid:N          # while it hangs, on each of its hosts (or slurm:JOBID, ssh:HOSTS)"
        yield "py-spy dump --nonblocking --pid N # of every rank; then rankscope analyze DIR"
    else:
        yield "the same stacks once more, a minute later, of all ranks: what did not move is what hangs"
        yield "rankscope snapshot -o job.snap    # stacks, recorder, locks and sockets of all ranks in one look"


def _fold(findings: list[Finding], explainable: set[str]) -> list[Finding]:
    """A cause that only says who is missing becomes a symptom of the one that says why."""
    reasons: dict[str, list[tuple[Finding, RankSet]]] = {}
    for one in findings:
        if one.kind is Kind.CAUSE:
            reasons.setdefault(one.cls, []).append((one, _concerned(one)))
    explained = (one.kind is Kind.CAUSE and _explained(one, reasons, explainable) for one in findings)
    return [dataclasses.replace(one, kind=Kind.SYMPTOM) if folds else one for one, folds in zip(findings, explained)]


def _explained(finding: Finding, reasons: Mapping[str, list[tuple[Finding, RankSet]]], explainable: set[str]) -> bool:
    """Whether some cause of another class is behind this one."""
    others = [one for cls, found in reasons.items() if cls != finding.cls for one in found]
    told = finding.cls in explainable and any(_explains(*one, finding, explainable) for one in others)
    return told or any(_is_why(one, finding) for one, _ in others)


def _concerned(cause: Finding) -> RankSet:
    """The ranks that a cause accuses or names."""
    ranks = cause.ranks | RankSet(process.rank for process in cause.processes if process.rank is not None)
    if cause.cls == "driver-not-ready":  # it accuses no rank, but those who tell of it cannot go on
        ranks |= RankSet(rank for one in cause.because for rank in who(one.evidence).ranks)
    return ranks


def _explains(reason: Finding, concerned: RankSet, finding: Finding, explainable: set[str]) -> bool:
    """Whether one cause tells why the ranks of another are where they are, and is not weaker by more than a word."""
    if reason.cls == "not-a-hang-slow" and finding.certainty is not Certainty.POSSIBLE:
        return False  # that something moves does not tell why ranks stand in different calls
    if reason.cls in explainable and _VAGUE.get(reason.cls, 0) >= _VAGUE.get(finding.cls, 0):
        return False
    if ORDER[reason.certainty] > max(ORDER[finding.certainty], ORDER[Certainty.LIKELY]):
        return False
    if _breaks_its_peers(reason) and finding.cls == "dead-rank":
        assert reason.collective is not None
        return not set(finding.ranks) - set(reason.collective.ranks)
    return not finding.ranks or bool(concerned & finding.ranks)


# By what they are, the second is the reason of the first: who was killed because memory ran out is dead for that, a helper
# that compiled is a child, who asks a child that is gone stands there for that, and where the driver keeps the program out, a
# rank does not come to the meeting.
_WHY = {
    ("child-dead", "oom-kill"), ("child-dead", "compile-worker"), ("rank-never-joined", "driver-not-ready"),
    ("rank-stuck-in-user-code", "child-dead"),
}  # fmt: skip
# Who is kept back by a file, a limit or the system does not come to the meeting either.
_WHY |= {
    ("rank-never-joined", cls)
    for cls in (
        "file-lock-stale", "file-lock-unsupported", "filesystem-stall", "storage-full", "shm-exhausted", "resource-limit",
        "process-stopped", "oom-kill",
    )
}  # fmt: skip
_DEVICES = {"gpu-hardware-fault", "gpu-kernel-hang", "cuda-async-error", "device-mapping", "driver-not-ready"}
# How runtimes of devices call what they raise; memory that ran out is told in the same form.
_OF_A_DEVICE = re.compile(
    r"\b(?:CUDA|HIP|cuda|hip|cuDNN|NPU|Triton|aclrt|level_zero|Native API|XPU|MUSA)\w*\b[^\n]{0,16}\b(?:[Ee]rror|fail\w*|returns)"
    r"|synStatus|_ERROR_DEVICE_LOST|CU(?:BLAS|DNN|SOLVER|SPARSE|FFT)_STATUS|\bcuda\w+Error\w*|\bDevice acquire failed"
    r"|no NVIDIA driver|GPUs are available|cudaGetDeviceCount|initialize backend",
)
_MEMORY = re.compile(r"out of memory|OutOfMemory|ALLOC_FAILED", re.IGNORECASE)


def _is_why(reason: Finding, finding: Finding) -> bool:
    """Whether one cause is the reason of another: by what they are, or because the error of a rank is one of its device."""
    if ORDER[reason.certainty] > ORDER[finding.certainty]:
        return False
    if (finding.cls, reason.cls) in _WHY:
        return reason.certainty is not Certainty.POSSIBLE or finding.cls == "child-dead"
    if finding.cls != "dead-rank" or reason.cls not in _DEVICES or reason.certainty is Certainty.POSSIBLE:
        return False
    said = " ".join((finding.title, *(str(one.text) for one in finding.because[:1])))
    return bool(_OF_A_DEVICE.search(said) and not _MEMORY.search(said))


def _breaks_its_peers(finding: Finding) -> bool:
    """Gloo aborts whoever receives more than it has room for, and closes the connections of all others
    (gloo/transport/tcp/pair.cc): members that died of a call whose sizes differ are victims."""
    kind = finding.collective.kind if finding.rule == "recorder-mismatch" and finding.collective else ""
    return kind in ("size_mismatch", "dtype_mismatch")


def _awaited(case: Case, causes: list[Finding]) -> set[int]:
    """Those of the causes (by ``id``) that accuse somebody for whom others wait; that a launcher minds its ranks is no such
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
        # Several causes are rather several explanations; only those of one kind belong together.
        # What recorders show was told apart from what follows from it: their causes are independent.
        if cause.cls != first.cls and not (_of_recorders(cause) and _of_recorders(first)):
            continue
        if cause.certainty is first.certainty and (cause.certainty is not Certainty.POSSIBLE or cause is first):
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


# What says that something went wrong without saying what.
_TROUBLE = {
    "torch.watchdog_timeout", "torch.heartbeat_timeout", "torch.heartbeat_stuck", "torch.dist_backend_error", "gloo.op_timeout",
    "gloo.closed_by_peer", "gloo.read_error", "gloo.full_mesh_failed", "gloo.connect_failed", "nccl.socket_error", "nccl.warn",
    "nccl.last_error", "store.key_wait_timeout", "store.connect_timeout", "elastic.worker_failed",
    "elastic.root_cause", "python.exception",
}  # fmt: skip


def told(event: Event) -> bool:
    """Whether an event is more than a line of text that nobody knows."""
    return not event.event.startswith("text.")


def _weak(case: Case) -> bool:
    """Whether "nothing found" only means that nothing could be seen, or that what was seen does not say why nothing moves."""
    if case.snapshot.live and (case.state is State.STUCK or (case.state is State.UNKNOWN and stand_long(case))):
        return True
    if ended_well(case):
        return False
    if not case.snapshot.live:
        return (not case.snapshot.processes and not any(told(event) for event in case.events)) or any(
            event.event in _TROUBLE for event in case.events
        )
    if case.state is not State.MOVING and away(case.snapshot, case.world_size):
        return True  # nothing wrong on the hosts that answered says nothing of those that did not
    seen = [standing for standing in case.standings.values() if standing.thread is not None]
    return bool(case.members) and not seen and not moves(case)
