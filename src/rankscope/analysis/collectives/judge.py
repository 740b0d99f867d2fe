"""Roots of the wait-for graph → states: what kind of failure each is, and whose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...model.diagnosis import CollectiveState
from ...model.ranks import RankSet, ranks_phrase
from ...model.ring import Call
from .awaited import Awaited
from .calls import Pending
from .circle import Circles, standing
from .clash import Clash, clash
from .graph import Graph, Root, islands, rank_node, reachable
from .groups import Groups
from .progress import time_left
from .ranks import RankView
from .records import Facts

_ROOTED = frozenset({"broadcast", "reduce", "gather", "scatter", "_broadcast_oop", "_reduce_oop"})
_MOST_STATES = 200
_CONSEQUENCE = 9
_MOST_MEMBERS = 2_000_000


@dataclass(frozen=True)
class Ruling:
    """States in order, the ranks at fault, and the circles."""

    states: tuple[CollectiveState, ...]
    culprits: RankSet
    cycles: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class _Cause:
    """One root, judged. ``call`` is the call in question, ``first`` orders causes (lower speaks first)."""

    kind: str
    call: int
    culprits: tuple[int, ...]
    first: int
    detail: str = ""
    clash: Clash | None = None
    circle: tuple[int, ...] = ()


class Judge:
    """Judges the roots of one graph."""

    def __init__(self, graph: Graph, roots: list[Root], views: Mapping[int, RankView], groups: Groups, facts: Facts):
        self._graph, self._roots, self._views, self._groups, self._facts = graph, roots, views, groups, facts
        self._awaited = Awaited(graph, views, groups)
        self._circles = Circles(graph, views, groups, self._awaited)
        self._absent, self._ahead, self._order = self._awaited.absent, self._awaited.ahead, self._awaited.order

    def rule(self) -> Ruling:
        """All causes, what follows from them, and who is at fault."""
        causes = sorted(
            self._believed(list(self._causes())), key=lambda cause: (cause.first, self._order(cause.call), cause.call)
        )
        culprits = RankSet(rank for cause in causes for rank in cause.culprits)
        states = [self._state(cause) for cause in self._joined(causes)]
        # Each state names all members of its group: of a hundred thousand ranks, twenty are enough.
        room = min(_MOST_STATES, 1 + _MOST_MEMBERS // max(1, self._groups.world)) - len(states)
        states.extend(self._consequences({cause.call for cause in causes}, culprits, room))
        cycles = tuple(cause.circle for cause in causes if cause.circle)
        return Ruling(tuple(states), culprits, tuple(dict.fromkeys(cycles)))

    def _causes(self) -> Iterator[_Cause]:
        clashes = dict(self._clashes())
        below = reachable(self._graph, list(clashes))
        yield from (self._clash_cause(at, found) for at, found in clashes.items())
        for root in self._roots:
            if set(root.calls) & set(clashes) or (clashes and self._explained(root, below)):
                continue
            yield from self._cause(root)

    def _believed(self, causes: list[_Cause]) -> list[_Cause]:
        """A rank without a recorder is suspected only where nothing else explains the same part of the job.

        Dumps get lost more often than two ranks fail at once.
        """
        if all(cause.kind != "no_evidence_rank" for cause in causes):
            return causes
        part = islands(
            self._graph, [group.ranks for group in self._groups.all if len(group.ranks) < self._groups.world]
        )
        explained = {
            part.get(cause.call) for cause in causes if cause.kind not in ("no_evidence_rank", "stuck_in_flight")
        }
        return [cause for cause in causes if cause.kind != "no_evidence_rank" or part.get(cause.call) not in explained]

    def _clashes(self) -> Iterator[tuple[int, Clash]]:
        """Mismatches at calls where a rank stands first; those queued behind another mismatch follow from it."""
        found = {}
        for at in sorted(self._ahead, key=self._order):
            one = clash(self._graph.calls[at], self._views, self._groups)
            if one is not None:
                found[at] = one
        for at, one in found.items():
            others = set(found) - {at}
            if not others & reachable(self._graph, [at]):
                yield at, one

    def _explained(self, root: Root, below: set[int]) -> bool:
        """Does a mismatch account for this root: is it only reached through one?"""
        nodes = {*root.calls, *(rank_node(rank) for rank in root.ranks)}
        return bool(nodes & below)

    def _clash_cause(self, at: int, found: Clash) -> _Cause:
        odd = found.odd
        who = ranks_phrase(RankSet(odd)) if odd else "the members"
        detail = f"{who} {found.story}" if found.story else ""
        return _Cause(found.kind, at, odd, 0, detail, found)

    def _cause(self, root: Root) -> Iterator[_Cause]:
        if root.circle and not root.ranks and self._graph.only_batches(root):
            yield from self._joined_call(root.calls[0])
        elif root.circle:
            yield from self._circle(root)
        elif root.ranks:
            yield from self._absentee(root.ranks[0])
        else:
            yield from self._joined_call(root.calls[0])

    def _circle(self, root: Root) -> Iterator[_Cause]:
        found = self._circles.judge(root)
        if found.lost is not None:
            kind = "missing_rank" if self._graph.calls[found.lost].peer is None else "p2p_unmatched"
            yield _Cause(kind, found.lost, found.odd, 1, found.detail)
            return
        for at in root.calls:
            yield _Cause("circular_wait", at, found.odd, 1, found.detail, circle=found.ranks)

    def _absentee(self, rank: int) -> Iterator[_Cause]:
        """A rank that waits for nothing while others wait for it."""
        at = self._awaited.first(rank)
        if at is None:
            return
        if rank not in self._views and rank in self._facts.unseen:
            yield _Cause("no_evidence_rank", at, (), 2, "what the ranks it waits for recorded was not read")
            return
        silent = [other for other in self._graph.calls[at].members if other not in self._views]
        if (
            rank not in self._views
            and rank not in self._facts.gone
            and (2 * len(silent) > len(self._graph.calls[at].members) or 2 * len(self._views) <= self._groups.world)
        ):
            yield _Cause("no_evidence_rank", at, (), 2, "too few left a record to tell who is missing")
            return
        if rank not in self._views or rank in self._facts.gone:
            detail = "it left no record of this moment: its process may be dead or unreachable"
            yield _Cause("no_evidence_rank", at, (rank,), 1, detail)
            return
        only_messages = all(self._graph.calls[call].peer is not None for call in self._absent[rank]
                            if call in self._ahead)  # fmt: skip
        message = self._graph.calls[at].peer is not None
        yield _Cause("p2p_unmatched" if message and only_messages else "missing_rank", at, (rank,), 1)

    def _joined_call(self, at: int) -> Iterator[_Cause]:
        """Every member issued the call."""
        call = self._graph.calls[at]
        name = call.op.call.op
        if call.done and name in _ROOTED and call.op.call.backend == "gloo":
            detail = "all members issued it and some are through: a root or argument differs, or data was lost"
            yield _Cause("argument_mismatch", at, (), 2, detail)
            return
        held_up = self._held_up(at) if call.done and call.peer is None and name not in _ROOTED else {}
        for rank, awaited in held_up.items():
            detail = f"its own device never finished {name} #{call.seq}, which is over on the other members"
            yield _Cause("missing_rank", awaited, (rank,), 1, detail)
        idle = self._not_begun(call) if not held_up else ()
        if idle:
            detail = f"the devices of the others began {name} #{call.seq}: there, something else still runs"
            yield _Cause("stuck_in_flight", at, idle, 2, detail)
        elif not held_up:
            yield _Cause(
                "stuck_in_flight", at, (), 3, "every member issued it and none can go on: network, device or library"
            )

    def _not_begun(self, call: Pending) -> tuple[int, ...]:
        """The few members whose device has not begun a call that the devices of all others have, where recorders time it
        (TORCH_NCCL_ENABLE_TIMING): a device works in order, so theirs is held by what came before."""
        if call.peer is not None or call.done or call.awaited:
            return ()
        idle = [rank for rank, op in call.waiting.items() if not self._views[rank].ring.states[op.at]]
        timed = all(any(self._views[rank].ring.started) or rank not in idle for rank in call.waiting)
        return tuple(sorted(idle)) if timed and 2 * len(idle) <= len(call.waiting) else ()

    def _held_up(self, at: int) -> dict[int, int]:
        """Nobody passes such a call before all have come: where it is over on some members, the devices of the others
        stand. Those in whose next calls somebody waits are named, with the first of these calls."""
        call, found = self._graph.calls[at], {}
        for rank in call.waiting:
            awaited = self._awaited.first(rank)
            if awaited is None:
                queued = [
                    other
                    for (other, before), who in self._graph.because.items()
                    if before == at and rank in who and self._waited_by_others(other, rank)
                ]
                awaited = min(queued, key=lambda other: (*self._order(other), other), default=None)
            if awaited is not None:
                found[rank] = awaited
        return found if len(found) <= len(call.members) // 2 else {}

    def _waited_by_others(self, at: int, rank: int) -> bool:
        return bool(standing(self._graph.calls[at], self._views) - {rank})

    def _joined(self, causes: list[_Cause]) -> Iterator[_Cause]:
        """Causes of one kind at one call speak as one."""
        merged: dict[tuple[str, int], list[_Cause]] = {}
        for cause in causes:
            merged.setdefault((cause.kind, cause.call), []).append(cause)
        for same in merged.values():
            ranks = tuple(sorted({rank for cause in same for rank in cause.culprits}))
            details = tuple(dict.fromkeys(cause.detail for cause in same if cause.detail))
            one = same[0]
            yield _Cause(one.kind, one.call, ranks, one.first, "; ".join(details), one.clash, one.circle)

    def _consequences(self, judged: set[int], culprits: RankSet, room: int) -> Iterator[CollectiveState]:
        """Incomplete calls that only follow from the causes: those at which some rank stands first."""
        rest = sorted(self._ahead - judged, key=lambda at: (*self._order(at), at))
        for at in rest[: max(0, room)]:
            call = self._graph.calls[at]
            at_fault = tuple(rank for rank in (*call.missing, *call.silent) if rank in culprits)
            kind = "missing_rank" if call.missing else "no_evidence_rank" if call.silent else "stuck_in_flight"
            yield self._state(_Cause(kind, at, at_fault, _CONSEQUENCE, "follows from another wait"))

    def _state(self, cause: _Cause) -> CollectiveState:
        call = self._graph.calls[cause.call]
        group = self._groups.all[call.group]
        model = cause.clash.expected.call if cause.clash and cause.clash.expected else self._usual(call)
        found = cause.clash.found if cause.clash else ()
        return CollectiveState(
            group=group.name,
            desc=group.desc,
            ranks=group.ranks,
            op=model.op,
            seq=call.seq,
            kind=cause.kind,
            arrived=RankSet((*call.waiting, *call.done)),
            missing=RankSet((*call.missing, *call.silent)),
            culprits=RankSet(cause.culprits),
            detail=cause.detail,
            found=tuple((text, RankSet(ranks)) for text, ranks in found),
            input_sizes=model.input_sizes,
            output_sizes=model.output_sizes,
            dtype=(model.input_dtypes or model.output_dtypes or ("",))[0],
            waiting=RankSet(call.waiting),
            deadline_s=self._deadline(call),
            pair=call.peer,
            consequence=cause.first == _CONSEQUENCE,
        )

    @staticmethod
    def _usual(call: Pending) -> Call:
        return min(call.waiting.values(), key=lambda op: op.created_ns).call

    def _deadline(self, call: Pending) -> float | None:
        """Seconds until the first watchdog of those who wait gives up."""
        left = [time_left(op, self._views[rank].read_at_ns or self._facts.now_ns) for rank, op in call.waiting.items()]
        return min((one for one in left if one is not None), default=None)


def label(call: Pending, groups: Groups) -> str:
    """``all_reduce #41 of default_pg`` or ``send 0->3 of pp``."""
    name = groups.all[call.group].label
    if call.peer is not None:
        return f"{call.op.call.op} {call.peer[0]}->{call.peer[1]} of {name}"
    return f"{call.op.call.op} #{call.seq} of {name}"
