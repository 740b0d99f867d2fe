"""What the comparison of recorders knows and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...model.diagnosis import CollectiveState
from ...model.evidence.recorder import Recorder
from ...model.ranks import RankSet


@dataclass(frozen=True)
class Facts:
    """What is known besides the recorders.

    ``earlier`` are recorders of a moment before; ``gone`` are ranks whose process is known to have ended; ``unseen``
    are ranks that nobody looked at, whose silence means nothing; ``sizes`` are numbers of members by group name (from
    the store); ``now_ns`` is when the recorders were taken, 0 if unknown.
    """

    earlier: Mapping[int, Recorder] = field(default_factory=dict)
    gone: RankSet = field(default_factory=RankSet)
    unseen: RankSet = field(default_factory=RankSet)
    sizes: Mapping[str, int] = field(default_factory=dict)
    now_ns: int = 0


@dataclass(frozen=True)
class Edge:
    """``waiters`` cannot go on before ``targets`` do something; ``why`` names the call."""

    waiters: RankSet
    targets: RankSet
    why: str


@dataclass(frozen=True)
class CollectiveAnalysis:
    """Who waits for whom in which call.

    ``states`` has the decisive call first. ``moving`` is True when the job got on between two moments, False when it
    did not, None when there was one moment. ``ages`` is the age of each rank's oldest unfinished operation and
    ``rhythm`` the usual time between its operations, ``deadlines`` the time until its watchdog gives up, in seconds, for
    ranks where the times are known. ``weak`` says why the answer is not sure.
    """

    states: tuple[CollectiveState, ...] = ()
    culprits: RankSet = field(default_factory=RankSet)
    waiting: RankSet = field(default_factory=RankSet)
    edges: tuple[Edge, ...] = ()
    cycles: tuple[tuple[int, ...], ...] = ()
    moving: bool | None = None
    ages: Mapping[int, float] = field(default_factory=dict)
    rhythm: Mapping[int, float] = field(default_factory=dict)
    deadlines: Mapping[int, float] = field(default_factory=dict)
    silent: RankSet = field(default_factory=RankSet)
    weak: tuple[str, ...] = ()
    differ: tuple[CollectiveState, ...] = ()  # calls that are over, and yet were not the same: the data is wrong

    @property
    def hang(self) -> bool:
        """Does something not complete?"""
        return bool(self.states) and self.moving is not True

    @property
    def late(self) -> bool:
        """Do ranks wait for one that is on its way?"""
        return bool(self.states) and self.states[0].kind == "straggler"

    @property
    def kind(self) -> str:
        """The kind of the decisive call; no_hang where there is none."""
        if self.hang or self.late:
            return self.states[0].kind
        return self.differ[0].kind if self.differ else "no_hang"
