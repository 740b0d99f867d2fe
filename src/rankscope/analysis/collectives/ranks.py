"""One rank's recorder, reduced to what comparing it with others needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ...model.evidence.recorder import Recorder
from ...model.ring import Call, Ring
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
    last: dict[int, int] = field(default_factory=dict)
    open: list[Op] = field(default_factory=list)
    open_seqs: dict[int, set[int]] = field(default_factory=dict)
    coalesced: dict[int, set[int]] = field(default_factory=dict)  # numbers that several open entries share
    _index: dict[int, dict[int, list[int]]] | None = None

    def calls_at(self, groups: Groups, group: int, seq: int) -> tuple[Call, ...]:
        """What it issued in a group under one sequence number (several when coalesced); empty when not recorded."""
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
        return tuple(self.ring.calls[at] for at in self._index.get(group, {}).get(seq, ()))


def view(rank: int, recorder: Recorder, groups: Groups, p2p_groups: set[int]) -> RankView:
    """Reduce one recorder. ``p2p_groups`` collects the groups whose counters also count sends and receives."""
    ring = Ring.of(recorder.entries)
    whole = not recorder.only_active and (not len(ring) or ring.ids[0] == 0)
    made = RankView(rank, ring, whole)
    last: dict[str, int] = {}
    for call, seq in zip(ring.calls, ring.seqs):
        if not call.is_p2p and seq > last.get(call.group, -1):
            last[call.group] = seq
    made.last = {groups.of[rank, name]: seq for name, seq in last.items() if (rank, name) in groups.of}
    p2p_groups.update(groups.of[rank, call.group] for call in set(ring.calls)
                      if call.is_p2p and (rank, call.group) in groups.of)  # fmt: skip
    made.open = list(_open(made, groups, recorder.only_active))
    for op in made.open:
        if not op.call.is_p2p:
            seqs = made.open_seqs.setdefault(op.group, set())
            if op.seq in seqs:
                made.coalesced.setdefault(op.group, set()).add(op.seq)
            seqs.add(op.seq)
    return made


def _open(made: RankView, groups: Groups, only_active: bool) -> Iterator[Op]:
    ring, step, batch = made.ring, -1, None
    stale = _stale(ring) if only_active else set()
    at = ring.done.find(0)
    while at >= 0:
        call = ring.calls[at]
        group = groups.of.get((made.rank, call.group))
        key = (call.group, ring.seqs[at], ring.p2p_seqs[at])
        if group is not None and key not in stale and not (call.op == "coalesced" and call.is_p2p):
            step += key != batch
            batch = key
            yield Op(at, group, ring.seqs[at], step, call, ring.created[at])
        at = ring.done.find(0, at + 1)


def _stale(ring: Ring) -> set[tuple[str, int, int]]:
    """Batches in a dump of unfinished operations whose own entry is gone: it finished, its members never say so."""
    seen: dict[tuple[str, int, int], list[str]] = {}
    for at, call in enumerate(ring.calls):
        seen.setdefault((call.group, ring.seqs[at], ring.p2p_seqs[at]), []).append(call.op)
    return {key for key, ops in seen.items() if len(ops) > 1 and "coalesced" not in ops}


def add_counters(made: RankView, recorder: Recorder, groups: Groups, p2p_groups: set[int]) -> None:
    """Use the group's counters where the ring does not reach: they are kept per process-local number of the group.

    Counters of groups with sends and receives are left alone: they count both.
    """
    if made.whole:
        return
    for pg_id, name in _numbers(recorder, made.ring).items():
        group = groups.of.get((made.rank, name))
        counters = recorder.status.get(str(pg_id))
        if group is not None and group not in p2p_groups and counters is not None:
            made.last[group] = max(made.last.get(group, -1), counters.last_enqueued)


def _numbers(recorder: Recorder, ring: Ring) -> Mapping[int, str]:
    """Group names by process-local number.

    Entries say both. For the rest: numbers are given in the order in which groups are made, and torch's names are
    numbers that grow in that order too; the two lists are laid side by side when they agree with all entries.
    """
    known = {call.pg_id: call.group for call in set(ring.calls) if call.pg_id >= 0}
    names = [config.name for config in recorder.groups if config.name.isdigit()]
    numbers = [key for key in recorder.status if key.isdigit()]
    if len(names) != len(numbers) or len(names) != len(recorder.groups):
        return known
    paired = dict(zip(sorted(map(int, numbers)), sorted(names, key=int), strict=True))
    return paired if all(paired.get(number) == name for number, name in known.items()) else known
