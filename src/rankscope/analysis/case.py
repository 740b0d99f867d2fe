"""A case: the snapshot, indexed, and what follows from it. Rules read this and nothing else."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from ..model.diagnosis import CollectiveState, State, Wait
from ..model.evidence.events import Event
from ..model.evidence.threads import Threads
from ..model.process import Process, ProcessRef, Role
from ..model.ranks import RankSet
from ..model.snapshot import Snapshot
from .collectives.records import CollectiveAnalysis
from .crowd import Crowd, Share

if TYPE_CHECKING:
    from .standing import Standing

K = TypeVar("K")
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

    @property
    def dead(self) -> bool:
        """Whether it is a zombie, or went away between the looks."""
        kernel = self.latest(Threads)
        return self.gone or bool(kernel and kernel.threads and all(task.state in "ZX" for task in kernel.threads))

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
class Root:
    """Somebody others wait for and who waits for nobody: where the chain ends.

    ``waiters`` are the processes that reach it, ``ranks`` their ranks; ``age_s`` how long the longest of them, or the
    root itself, has stood still, None where nothing tells: since when something is late. Whether the root itself has been
    there for so long says its own age (``own_age``).
    """

    ref: ProcessRef
    waiters: tuple[ProcessRef, ...] = ()
    ranks: RankSet = field(default_factory=RankSet)
    age_s: float | None = None


@dataclass(frozen=True)
class Graph:
    """Who waits for whom; where it ends (roots), and where it bites its own tail (cycles).

    A process that waits for a whole crowd (``shares``) has only a few of its edges among the ``waits``; ``to`` knows them all.
    """

    waits: tuple[Wait, ...] = ()
    roots: tuple[Root, ...] = ()
    cycles: tuple[tuple[ProcessRef, ...], ...] = ()
    shares: tuple[Share, ...] = ()

    @functools.cached_property
    def by_waiter(self) -> Mapping[ProcessRef, tuple[Wait, ...]]:
        """The edges by who waits."""
        return _grouped((wait.waiter, wait) for wait in self.waits)

    @functools.cached_property
    def by_target(self) -> Mapping[ProcessRef, tuple[Wait, ...]]:
        """The edges by whom they lead to."""
        return _grouped((wait.target, wait) for wait in self.waits if wait.target is not None)

    @functools.cached_property
    def _roots(self) -> Mapping[ProcessRef, Root]:
        return {root.ref: root for root in self.roots}

    def root(self, ref: ProcessRef) -> Root | None:
        """The root that a process is, if chains end there."""
        return self._roots.get(ref)

    def to(self, ref: ProcessRef) -> tuple[Wait, ...]:
        """Everybody who waits for one process, with a crowd or not."""
        direct, crowds = self.by_target.get(ref, ()), self._crowds.get(ref, ())
        if not direct and len(crowds) == 1 and ref not in self.by_waiter:
            return self._asking[crowds[0]]  # the same for hundreds
        found = {wait.waiter: wait for wait in direct}
        for crowd in crowds:
            for wait in self._asking[crowd]:
                found.setdefault(wait.waiter, wait)
        found.pop(ref, None)
        return tuple(found.values())

    @functools.cached_property
    def unwritten(self) -> int:
        """How many edges to members of crowds are not among the ``waits``."""
        count = 0
        for waiter, crowds in _grouped((share.wait.waiter, share.crowd) for share in self.shares).items():
            written = (wait.target for wait in self.by_waiter.get(waiter, ()))
            count += len(set().union(*(crowd.refs for crowd in crowds)).difference({waiter}, written))
        return count

    @functools.cached_property
    def _crowds(self) -> Mapping[ProcessRef, tuple[Crowd, ...]]:
        return _grouped((ref, crowd) for crowd in self._asking for ref in crowd.refs)

    @functools.cached_property
    def _asking(self) -> Mapping[Crowd, tuple[Wait, ...]]:
        return _grouped((share.crowd, share.wait) for share in self.shares)


def _grouped(pairs: Iterable[tuple[K, T]]) -> dict[K, tuple[T, ...]]:
    found: dict[K, list[T]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return {key: tuple(values) for key, values in found.items()}


@dataclass(frozen=True)
class Case:
    """Everything a rule may look at."""

    snapshot: Snapshot
    members: tuple[Member, ...]
    events: tuple[Event, ...] = ()
    collectives: tuple[CollectiveState, ...] = ()
    comparison: CollectiveAnalysis = field(default_factory=CollectiveAnalysis)  # what the recorders say, compared
    standings: Mapping[ProcessRef, Standing] = field(default_factory=dict)
    graph: Graph = field(default_factory=Graph)
    state: State = State.UNKNOWN
    stuck_after_s: float = 30.0
    world_size: int | None = None
    ranks: RankSet = field(default_factory=RankSet)

    def __iter__(self) -> Iterator[Member]:
        return iter(self.members)

    def with_role(self, role: Role) -> tuple[Member, ...]:
        return tuple(member for member in self.members if member.role is role)

    @functools.cached_property
    def by_ref(self) -> Mapping[ProcessRef, Member]:
        """Members by reference."""
        return {member.ref: member for member in self.members}

    @functools.cached_property
    def by_host(self) -> Mapping[str, tuple[Member, ...]]:
        """Members by the host they run on."""
        found: dict[str, list[Member]] = {}
        for member in self.members:
            found.setdefault(member.ref.host, []).append(member)
        return {host: tuple(members) for host, members in found.items()}

    @functools.cached_property
    def by_rank(self) -> Mapping[int, Member]:
        """The rank processes by world rank: of one that was started anew, the living one."""
        ranks = sorted(self.with_role(Role.RANK), key=lambda member: not member.dead)
        return {member.rank: member for member in ranks if member.rank is not None}

    @functools.cached_property
    def by_pid(self) -> Mapping[tuple[str, int], Member]:
        """Members by host and pid: each host, and each pod, counts its processes from one."""
        return {(member.ref.host, member.ref.pid): member for member in self.members}

    def children_of(self, ref: ProcessRef) -> tuple[Member, ...]:
        """The members that a process started."""
        return self._children.get((ref.host, ref.pid), ())

    def siblings_of(self, member: Member) -> Iterator[Member]:
        """The other members that the same process started, whether or not it is one."""
        family = self._children[member.ref.host, member.process.parent]
        return (one for one in family if one is not member)

    @functools.cached_property
    def _children(self) -> Mapping[tuple[str, int], tuple[Member, ...]]:
        return _grouped(((member.ref.host, member.process.parent), member) for member in self.members)

    def of_rank(self, rank: int) -> tuple[Process, ...]:
        """The process of a rank, as findings name it; empty when the rank has none."""
        member = self.by_rank.get(rank)
        return (member.process,) if member else ()

    def stuck(self, age_s: float | None) -> bool:
        """Whether something this old counts as stuck."""
        return age_s is not None and age_s >= self.stuck_after_s
