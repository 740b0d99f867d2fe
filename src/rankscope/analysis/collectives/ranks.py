"""One rank's recorder, reduced to what comparing it with others needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ...model.evidence.recorder import Recorder
from ...model.ranks import number_of
from ...model.ring import STATES, Call, Ring
from .groups import Groups


@dataclass(frozen=True, eq=False)
class Op:
    """An operation that is not over: where it is in the ring, and which step of the rank it belongs to.

    Operations of one batch (``batch_isend_irecv``, a coalescing manager) are one step: none waits for another.
    """

    at: int
    group: int
    seq: int
    step: int
    call: Call
    created_ns: int


@dataclass(eq=False)
class RankView:
    """What one rank did: the last call it issued in each group, and what is not over."""

    rank: int
    ring: Ring
    whole: bool  # the ring goes back to the first operation, and nothing was left out
    only_active: bool = False
    read_at_ns: int = 0  # by the clock of its own host
    last: dict[int, int] = field(default_factory=dict)
    open: list[Op] = field(default_factory=list)
    open_seqs: dict[int, set[int]] = field(default_factory=dict)
    coalesced: dict[int, set[int]] = field(default_factory=dict)  # numbers that several open entries share
    _index: dict[int, dict[int, list[int]]] | None = None

    def may_forget(self, group: int, created_ns: int) -> bool:
        """Would what was issued in a group at some time have left the ring by now? Only where nothing of the group is
        left in it, and no counter tells."""
        if self.whole or self.only_active or group in self.last or not len(self.ring):
            return False
        return 0 < created_ns < self.ring.created[0]

    def calls_at(self, groups: Groups, group: int, seq: int) -> tuple[Call, ...]:
        """What it issued in a group under one sequence number (several when coalesced); empty when not recorded."""
        return tuple(self.ring.calls[at] for at in self._places(groups).get(group, {}).get(seq, ()))

    def place(self, groups: Groups, group: int, seq: int) -> int | None:
        """Where in the ring that is; None when it is not recorded."""
        return next(iter(self._places(groups).get(group, {}).get(seq, ())), None)

    def _places(self, groups: Groups) -> dict[int, dict[int, list[int]]]:
        if self._index is None:
            self._index = defaultdict(lambda: defaultdict(list))
            gid: dict[str, int | None] = {}
            for at, (call, number) in enumerate(zip(self.ring.calls, self.ring.seqs)):
                if call.is_p2p:
                    continue
                if call.group not in gid:
                    gid[call.group] = groups.of.get((self.rank, call.group))
                found = gid[call.group]
                if found is not None:
                    self._index[found][number].append(at)
        return self._index


def view(rank: int, recorder: Recorder, groups: Groups, p2p_groups: set[int], batches: bool = False) -> RankView:
    """Reduce one recorder. ``p2p_groups`` collects the groups whose counters also count sends and receives; ``batches``
    says that the job posts its messages in batches."""
    ring = Ring.of(recorder.entries)
    ring = _without_timed_out(ring)
    if recorder.only_active:
        ring = _without_finished_batches(ring, batches)
    whole = not recorder.only_active and (not len(ring) or ring.ids[0] == 0)
    made = RankView(rank, ring, whole, recorder.only_active, recorder.read_at_ns)
    last: dict[str, int] = {}
    for call, seq in zip(ring.calls, ring.seqs):
        if not call.is_p2p and seq > last.get(call.group, -1):
            last[call.group] = seq
    made.last = {groups.of[rank, name]: seq for name, seq in last.items() if (rank, name) in groups.of}
    p2p_groups.update(groups.of[rank, call.group] for call in set(ring.calls)
                      if call.is_p2p and (rank, call.group) in groups.of)  # fmt: skip
    made.open = list(_open(made, groups))
    for op in made.open:
        if not op.call.is_p2p:
            seqs = made.open_seqs.setdefault(op.group, set())
            if op.seq in seqs:
                made.coalesced.setdefault(op.group, set()).add(op.seq)
            seqs.add(op.seq)
    return made


def _open(made: RankView, groups: Groups) -> Iterator[Op]:
    ring, step, batch = made.ring, -1, None
    at = ring.done.find(0)
    while at >= 0:
        call = ring.calls[at]
        group = groups.of.get((made.rank, call.group))
        key = (call.group, ring.seqs[at], ring.p2p_seqs[at])
        if group is not None and not (call.closes_batch and call.is_p2p):
            step += key != batch
            batch = key
            yield Op(at, group, ring.seqs[at], step, call, ring.created[at])
        at = ring.done.find(0, at + 1)


def posts_batches(ring: Ring) -> bool:
    """Does a rank post its messages in batches (``batch_isend_irecv``)?"""
    if any(call.closes_batch and call.is_p2p for call in set(ring.calls)):
        return True
    keys = [(call.group, ring.p2p_seqs[at]) for at, call in enumerate(ring.calls) if call.peer is not None]
    return len(set(keys)) < len(keys)


def _without_finished_batches(ring: Ring, batches: bool) -> Ring:
    """In a dump of unfinished operations: batches whose own entry is gone are over, though their members never say so."""
    seen: dict[tuple[str, int, int], list[int]] = {}
    for at, call in enumerate(ring.calls):
        seen.setdefault((call.group, ring.seqs[at], ring.p2p_seqs[at]), []).append(at)
    done = bytearray(ring.done)
    for places in seen.values():
        alone = len(places) == 1 and not (batches and ring.calls[places[0]].peer is not None)
        if not alone and not any(ring.calls[at].closes_batch for at in places):
            for at in places:
                done[at] = 1
    return replace(ring, done=bytes(done))


def _without_timed_out(ring: Ring) -> Ring:
    """Operations that were given up are not over: retired, and yet their end was never seen where ends are seen.

    Torch says so itself (FlightRecorder.hpp: "a retired but not completed event has timed out"); gloo never sees an end. What
    was given up long ago holds nobody up: the rank has finished others since.
    """
    completed = STATES.index("completed")
    last = ring.states.rfind(completed)
    doubtful = [at for at in range(last + 1, len(ring)) if ring.done[at] and ring.states[at] != completed]
    if not doubtful or completed not in ring.states:
        return ring
    seen = {ring.calls[at].backend for at, state in enumerate(ring.states) if state == completed}
    batches = {
        (call.group, ring.seqs[at], ring.p2p_seqs[at]) for at, call in enumerate(ring.calls) if call.closes_batch
    }
    done = bytearray(ring.done)
    for at in doubtful:
        call = ring.calls[at]
        if call.backend in seen and (call.group, ring.seqs[at], ring.p2p_seqs[at]) not in batches:
            done[at] = 0
    return replace(ring, done=bytes(done))


def add_counters(made: RankView, recorder: Recorder, groups: Groups, p2p_groups: set[int]) -> None:
    """Use the group's counters where the ring does not reach: they are kept per process-local number of the group.

    Counters of groups with sends and receives are left alone: they count both.
    """
    if made.whole:
        return
    for pg_id, name in _numbers(made.rank, recorder, made.ring).items():
        group = groups.of.get((made.rank, name))
        counters = recorder.status.get(str(pg_id))
        if group is not None and group not in p2p_groups and counters is not None:
            made.last[group] = max(made.last.get(group, -1), counters.last_enqueued)


def _numbers(rank: int, recorder: Recorder, ring: Ring) -> Mapping[int, str]:
    """Group names by process-local number.

    Entries say both. For the rest: the default group is made first; numbers are given in the order in which groups are
    made, and torch's names are numbers that grow in that order too, so the two lists are laid side by side when they agree
    with all entries; and of a number and a name that are left over, one each, the one is the other's.
    """
    known = {call.pg_id: call.group for call in set(ring.calls) if call.pg_id >= 0}
    numbers = {number for key in recorder.status if (number := number_of(key)) is not None}
    names = {one.name: one.desc for one in recorder.groups if one.name and (rank in one.ranks or not one.ranks)}
    first = next((name for name, desc in names.items() if desc == "default_pg"), None)
    if first is not None and 0 in numbers and first not in known.values():
        known.setdefault(0, first)
    if len(names) == len(numbers) and all(map(str.isdigit, names)):
        paired = dict(zip(sorted(numbers), sorted(names, key=int), strict=True))
        if all(paired.get(number) == name for number, name in known.items()):
            return paired
    left, over = numbers - set(known), set(names) - set(known.values())
    return {**known, left.pop(): over.pop()} if len(left) == 1 == len(over) else known
