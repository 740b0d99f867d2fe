"""What follows from the evidence: findings, in order, and the verdict."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from .evidence.stacks import Frame
from .gap import Gap
from .process import Process, ProcessRef
from .ranks import RankSet
from .snapshot import Effort, Job


class Certainty(str, enum.Enum):
    """How sure a finding is; the order is certain > likely > possible."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


class Kind(str, enum.Enum):
    """What a finding is in the story."""

    CAUSE = "cause"
    SYMPTOM = "symptom"
    NOTE = "note"


class State(str, enum.Enum):
    """How the job as a whole fares."""

    STUCK = "stuck"
    MOVING = "moving"
    SLOW = "slow"
    EXITED = "exited"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Reason:
    """One sentence and the evidence it rests on; ``place`` is where a quoted line stands: ``train.log:4121``."""

    text: str
    evidence: str = ""
    process: ProcessRef | None = None
    place: str = ""


@dataclass(frozen=True)
class Step:
    """What to type next: ``command`` as it is typed beside the process ``about``; ``remark`` says what for.

    Pid 0 stands for the host as a whole. Without ``about`` the command is typed where its reader sits.
    """

    command: str
    about: ProcessRef | None = None
    remark: str = ""

    def __str__(self) -> str:
        return f"{self.command}   # {self.remark}" if self.remark else self.command


@dataclass(frozen=True)
class CollectiveState:
    """One collective that did not complete (or differs), over the ranks of its group.

    ``kind`` is missing_rank, collective_mismatch, size_mismatch, dtype_mismatch, argument_mismatch, p2p_unmatched,
    circular_wait, stuck_in_flight, no_evidence_rank, straggler or no_hang. ``seq`` is None for P2P.
    """

    group: str
    desc: str
    ranks: tuple[int, ...]
    op: str
    seq: int | None
    kind: str
    arrived: RankSet
    missing: RankSet
    culprits: RankSet
    detail: str = ""
    found: tuple[tuple[str, RankSet], ...] = ()  # what the culprits did instead, and who did it
    input_sizes: tuple[tuple[int, ...], ...] = ()
    output_sizes: tuple[tuple[int, ...], ...] = ()
    dtype: str = ""
    waiting: RankSet = field(default_factory=RankSet)
    deadline_s: float | None = None  # until the first watchdog of a waiting rank fires
    pair: tuple[int, int] | None = None  # source and destination of a message, as world ranks
    consequence: bool = False  # it only follows from another wait


# What speaks against a finding that is only a note because of it.
READS_WELL = "all of the evidence reads like that of runs in which nothing is wrong"
GETS_ON = "a log beside it gets on, and nothing tells which of the two is later"
ONE_LOOK = "where processes stood at one moment is all that was saved, and those that run stand somewhere, too"


@dataclass(frozen=True)
class Finding:
    """What a rule says: one cause, symptom or note, who it concerns, why we think so, and what to do next.

    In ``next`` text is advice, or a command about the finding as a whole.
    ``compared`` is one that rests on what several processes or ranks show, set side by side: no word of theirs tells it.
    ``circle`` is one inside a single process, whose threads or tasks wait for each other, or for themselves.
    """

    rule: str
    cls: str
    kind: Kind
    certainty: Certainty
    title: str
    ranks: RankSet = field(default_factory=RankSet)
    processes: tuple[Process, ...] = ()
    because: tuple[Reason, ...] = ()
    against: tuple[str, ...] = ()
    next: tuple[Step | str, ...] = ()
    collective: CollectiveState | None = None
    compared: bool = False
    circle: bool = False


@dataclass(frozen=True)
class CallPath:
    """How some ranks came to a call: ``frames`` are those of the job's own code, root first; ``process`` has their source."""

    ranks: RankSet
    what: str
    frames: tuple[Frame, ...] = ()
    process: ProcessRef | None = None


@dataclass(frozen=True)
class Divergence:
    """Where the ranks parted: the last call they made in common, and what each side did then."""

    sides: tuple[CallPath, ...]
    common: CallPath | None = None


@dataclass(frozen=True)
class Wait:
    """``waiter`` cannot go on before ``target`` does something; ``since_s`` is how long it has waited."""

    waiter: ProcessRef
    target: ProcessRef | None
    why: str
    since_s: float | None = None


@dataclass(frozen=True)
class Verdict:
    """The first cause in one line."""

    cls: str
    ranks: RankSet
    title: str
    certainty: Certainty


@dataclass(frozen=True)
class Diagnosis:
    """Findings in order; the first cause is the verdict."""

    job: Job
    state: State
    world_size: int | None
    ranks: RankSet
    hosts: tuple[str, ...]
    verdict: Verdict | None
    findings: tuple[Finding, ...] = ()
    collectives: tuple[CollectiveState, ...] = ()
    waits: tuple[Wait, ...] = ()
    waits_unwritten: int = 0  # edges to members of crowds that are left out of ``waits``
    cycles: tuple[tuple[ProcessRef, ...], ...] = ()  # one member: the circle is inside this process
    gaps: tuple[Gap, ...] = ()
    effort: Effort = field(default_factory=Effort)
    processes: int = 0
    roster: Mapping[ProcessRef, int] = field(default_factory=dict)  # world ranks of the rank processes
    next: tuple[Step | str, ...] = ()  # what to type next, or what would decide where nothing can be said
    parted: Divergence | None = None  # where recorders tell how the ranks at fault left the path of the others
    deadlines: tuple[tuple[float, RankSet], ...] = ()  # seconds until the watchdogs of ranks give up, the first first
    evidence_weak: bool = False  # not enough evidence to say either way: exit code 3
    versions: tuple[tuple[str, tuple[str, ...]], ...] = ()  # of libraries, as far as the evidence names them
    again_s: float | None = None  # in how many seconds another look would decide, where a wait has only begun
