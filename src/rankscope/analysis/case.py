"""A case: the snapshot, indexed, and what follows from it. Rules read this and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..model.diagnosis import CollectiveState, State, Wait
from ..model.evidence.events import Event
from ..model.process import Process, ProcessRef, Role
from ..model.ranks import RankSet
from ..model.snapshot import Snapshot

T = TypeVar("T")


@dataclass(frozen=True)
class Member:
    """One process of the job over all sweeps. ``looks[i]`` maps record classes to what sweep i saw of it."""

    process: Process
    looks: tuple[dict[type[Any], Any], ...]
    present: tuple[bool, ...]

    @property
    def ref(self) -> ProcessRef:
        return self.process.ref

    @property
    def role(self) -> Role:
        return self.process.role

    @property
    def rank(self) -> int | None:
        """World rank: its own when it is a rank, its owner's when it serves one."""
        return self.process.rank

    @property
    def gone(self) -> bool:
        """It was there when the job was found and is not there any more."""
        return bool(self.present) and not self.present[-1]

    def latest(self, cls: type[T]) -> T | None:
        """The last record of one kind, None where no sweep has one."""
        for look in reversed(self.looks):
            if cls in look:
                return look[cls]  # type: ignore[no-any-return]
        return None

    def first(self, cls: type[T]) -> T | None:
        """The first record of one kind."""
        for look in self.looks:
            if cls in look:
                return look[cls]  # type: ignore[no-any-return]
        return None

    def over_time(self, cls: type[T]) -> tuple[T, ...]:
        """The records of one kind, one per sweep that has it."""
        return tuple(look[cls] for look in self.looks if cls in look)


@dataclass(frozen=True)
class Case:
    """Everything a rule may look at."""

    snapshot: Snapshot
    members: tuple[Member, ...]
    events: tuple[Event, ...] = ()
    collectives: tuple[CollectiveState, ...] = ()
    waits: tuple[Wait, ...] = ()
    state: State = State.UNKNOWN
    stuck_after_s: float = 30.0
    world_size: int | None = None
    ranks: RankSet = field(default_factory=RankSet)

    def __iter__(self) -> Iterator[Member]:
        return iter(self.members)

    def with_role(self, role: Role) -> tuple[Member, ...]:
        return tuple(member for member in self.members if member.role is role)

    def member(self, ref: ProcessRef) -> Member | None:
        for member in self.members:
            if member.ref == ref:
                return member
        return None
