"""A job on paper: each rank's host issues calls and each rank's device carries them out.

The device has a queue per group. A call that the program does not wait for lets later calls of other groups pass; any
other one holds back all that follow (torch orders them by events of the current stream). A collective is over when every
member's device has begun it with fitting arguments; a message, when both ends have.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from harness import paper
from harness.paper import T0

TICK = 1_000_000


@dataclass(frozen=True)
class Call(paper.Call):
    """One for which the program may or may not wait."""

    waits: bool = True

    @property
    def fits(self) -> tuple[object, ...]:
        """What all members have to agree on."""
        if self.op == "all_to_all":
            return (self.op, self.dtype)
        return (self.op, self.dtype, self.sizes, self.out)


@dataclass(frozen=True)
class Sync:
    """The host waits until everything it issued is over."""


Step = "Call | Sync"
Program = list  # of Call and Sync
Groups = dict  # name → (description, members)


@dataclass(eq=False)
class Issued:
    """One call of one rank, as far as it got."""

    rank: int
    at: int
    call: Call
    seq: int
    p2p_seq: int
    op_id: int
    nth: int
    created: int
    step: int  # index in the program
    begun: bool = False
    over: bool = False
    ended: int = 0


@dataclass
class Job:
    """``window`` is how many calls a host issues before it waits for the oldest (1: a CPU backend)."""

    groups: Groups
    programs: list[Program]
    window: int = 8
    stops: dict[int, int] = field(default_factory=dict)  # rank → index in its program that it never gets to
    dies: dict[int, int] = field(default_factory=dict)  # rank → index from which its device does nothing
    lost: dict[int, int] = field(default_factory=dict)  # rank → index of a call that ends on all devices but its own
    broken: set[tuple[str, int]] = field(default_factory=set)  # (group, number) that ends nowhere
    ticks: int = 1 << 30  # when to look, if the job is not to run until it stands
    issued: list[list[Issued]] = field(default_factory=list)
    reached: list[int] = field(default_factory=list)

    def run(self) -> Job:
        """Issue and complete until nothing moves (or until it is looked at)."""
        world = len(self.programs)
        self.issued = [[] for _ in range(world)]
        self.reached = [0] * world
        self._open: list[list[Issued]] = [[] for _ in range(world)]
        self._seq: dict[tuple[int, str], int] = defaultdict(int)
        self._p2p: dict[tuple[int, str], int] = defaultdict(int)
        self._nth: dict[tuple[int, str, str, int], int] = defaultdict(int)
        clock, moved = 0, True
        while moved and clock < self.ticks:
            clock += 1
            moved = sum(self._host(rank, clock) for rank in range(world)) > 0
            moved = self._devices(clock) or moved
        return self

    def _host(self, rank: int, clock: int) -> bool:
        moved = False
        while self.reached[rank] < min(len(self.programs[rank]), self.stops.get(rank, 1 << 30)):
            step = self.programs[rank][self.reached[rank]]
            if isinstance(step, Sync):
                if self._open[rank]:
                    break
            else:
                same_batch = step.batch and self._open[rank] and self._open[rank][-1].call.batch == step.batch
                if len(self._open[rank]) >= self.window and not same_batch:
                    break
                self._issue(rank, step, clock)
            self.reached[rank] += 1
            moved = True
        return moved

    def _issue(self, rank: int, call: Call, clock: int) -> None:
        key, nth = (rank, call.group), 0
        last = self.issued[rank][-1].call if self.issued[rank] else None
        if call.peer is None:
            self._seq[key] += 1
        else:
            self._p2p[key] += not (call.batch and last and last.batch == call.batch and last.group == call.group)
            pair = (rank, call.group, call.op, call.peer)
            nth = self._nth[pair]
            self._nth[pair] += 1
        made = Issued(rank, len(self.issued[rank]), call, self._seq[key], self._p2p[key] if call.peer is not None else 0,
                      self._seq[key] + self._p2p[key], nth, T0 + clock * TICK + 1000 * len(self.issued[rank]) + rank,
                      self.reached[rank])  # fmt: skip
        self.issued[rank].append(made)
        self._open[rank].append(made)

    def _devices(self, clock: int) -> bool:
        ready: dict[object, dict[int, Issued]] = defaultdict(dict)
        moved = False
        for rank, opened in enumerate(self._open):
            for one in self._runnable(rank, opened):
                moved |= not one.begun
                one.begun = True
                if one.call.peer is None:
                    ready[one.call.group, one.seq][rank] = one
                else:
                    source, target = self.ends(one)
                    ready[one.call.group, source, target, one.nth][rank, one.call.op] = one  # type: ignore[index]
        for key, parties in ready.items():
            if self._complete(key, list(parties.values()), clock):
                moved = True
        for rank in range(len(self._open)):
            self._open[rank] = [one for one in self._open[rank] if not one.over]
        return moved

    def _runnable(self, rank: int, opened: list[Issued]) -> list[Issued]:
        """What the device works on: the head of each queue, unless a call before it holds everything back."""
        out: list[Issued] = []
        queues: set[object] = set()
        for one in opened:
            if one.step >= self.dies.get(rank, 1 << 30):
                break
            batch = one.call.batch
            together = bool(batch) and bool(out) and out[-1].call.batch == batch
            queue: object = one.call.group
            if one.call.peer is not None and not batch:  # each pair of ranks has a queue of its own
                queue = (one.call.group, *sorted(self.ends(one)))
            if queue not in queues or together:
                out.append(one)
            queues.add(queue)
            following = opened[opened.index(one) + 1 :][:1]
            if one.call.waits and not (batch and following and following[0].call.batch == batch):
                break
        return out

    def _complete(self, key: object, parties: list[Issued], clock: int) -> bool:
        call = parties[0].call
        if call.peer is None:
            members = self.groups[call.group][1]
            alike = len({one.call.fits for one in parties}) == 1
            if len(parties) < len(members) or not alike or (call.group, parties[0].seq) in self.broken:
                return False
        elif len(parties) < 2 or len({one.call.sizes for one in parties}) > 1:
            return False
        for one in parties:
            if self.lost.get(one.rank) != one.step:
                one.over, one.ended = True, T0 + clock * TICK + TICK // 2
        return any(one.over for one in parties)

    def ends(self, one: Issued) -> tuple[int, int]:
        """Source and destination as world ranks."""
        other = self.groups[one.call.group][1][one.call.peer or 0]
        return (one.rank, other) if one.call.op == "send" else (other, one.rank)

    @property
    def messages(self) -> bool:
        """Does the job send any?"""
        return any(one.call.peer is not None for issued in self.issued for one in issued)

    def open(self, rank: int) -> list[Issued]:
        return [one for one in self.issued[rank] if not one.over]
