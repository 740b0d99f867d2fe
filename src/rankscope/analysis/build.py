"""Snapshot → case: everything that follows from the evidence before a rule looks at it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ..model.diagnosis import State
from ..model.evidence.calls import Calls
from ..model.evidence.environ_now import EnvironNow
from ..model.evidence.events import Event, Events
from ..model.evidence.ras import RasReport
from ..model.evidence.recorder import Recorder
from ..model.evidence.stacks import PythonStacks
from ..model.evidence.store import StoreKeys
from ..model.process import ProcessRef, Role
from ..model.ranks import MOST_RANKS, RankSet
from ..model.snapshot import Snapshot
from . import asking, graph
from .away import away
from .birth_order import numbered
from .by_elimination import renumbered
from .case import Case, Member, Root
from .collectives.of_case import account, rank_edges
from .collectives.prepared import join
from .frame_tables import WaitKind
from .helping import helped
from .identity import resolve
from .in_sight import commands_alone, serves_idly, unclear
from .one_host import ranks_here
from .orders import may_await_orders
from .own_age import circle_s
from .progress import works
from .restarts import restarts
from .rhythm import rhythm
from .scene import Scene
from .spinning import aged
from .standing import Standing, align, stand
from .starting import starters
from .stillness import gets_on, held_together, naps

T = TypeVar("T")


def build(snapshot: Snapshot, stuck_after_s: float = 30.0) -> Case:
    """The case of a snapshot."""
    members = _members(snapshot)
    standings = asking.aged(aged(helped(align({member.ref: stand(member) for member in members}))))
    by_rank = {
        member.rank: member.ref
        for member in members
        if member.role is Role.RANK and member.rank is not None and not member.dead
    }
    world_size = _world_size(snapshot, members)
    missing = _expected(snapshot, members, world_size) - RankSet(by_rank)
    compared = account(
        members, world_size, missing, snapshot.live, _of_job(snapshot, RasReport), _of_job(snapshot, StoreKeys)
    )
    scene = Scene({member.ref: member for member in members}, standings, by_rank, missing, rank_edges(compared),
                  away(snapshot, world_size))  # fmt: skip
    case = Case(
        snapshot, members, events=_events(snapshot),
        collectives=compared.states if compared.hang or compared.late else compared.differ,
        comparison=compared, standings=standings, graph=graph.build(scene),
        stuck_after_s=max(stuck_after_s, RHYTHMS * _beat_s(members, snapshot)),
        world_size=world_size, ranks=RankSet(by_rank) | missing,
    )  # fmt: skip
    return dataclasses.replace(case, state=_state(case))


def _of_job(snapshot: Snapshot, kind: type[T]) -> list[T]:
    """All records of one kind, whoever they are about."""
    return [item.record for sweep in snapshot.sweeps for item in sweep.items if isinstance(item.record, kind)]


# Still for ten times the job's own rhythm is stuck, however small --stuck-after is.
RHYTHMS = 10


def _beat_s(members: tuple[Member, ...], snapshot: Snapshot) -> float:
    """The usual time between collectives of a live job, in seconds; 0 where no recorder tells."""
    beat = rhythm(members) if snapshot.live else None
    return beat.beat_s if beat is not None else 0.0


def _members(snapshot: Snapshot) -> tuple[Member, ...]:
    looks: dict[ProcessRef, list[dict[type[Any], Any]]] = {
        process.ref: [{} for _ in snapshot.sweeps] for process in snapshot.processes
    }
    for number, sweep in enumerate(snapshot.sweeps):
        for item in sweep.items:
            if item.process in looks:
                looks[item.process][number][type(item.record)] = item.record
    stacks, environs = _latest(looks, PythonStacks), _latest(looks, EnvironNow)
    present = [frozenset(sweep.present) for sweep in snapshot.sweeps]
    members = tuple(
        Member(
            process,
            tuple(looks[process.ref]),
            tuple(process.ref in alive for alive in present) if snapshot.live else (),
        )
        for process in resolve(snapshot.processes, stacks, environs, saved=not snapshot.live)
    )
    members = renumbered(numbered(members) if snapshot.live else members, snapshot.job.expected_ranks)
    return tuple(map(_completed, members))


def _latest(looks: Mapping[ProcessRef, Sequence[Mapping[type[Any], Any]]], kind: type[T]) -> dict[ProcessRef, T]:
    """The last record of one kind of every process that has one."""
    found = {ref: next((look[kind] for look in reversed(seen) if kind in look), None) for ref, seen in looks.items()}
    return {ref: record for ref, record in found.items() if record is not None}


def _completed(member: Member) -> Member:
    """Where a rank noted its own calls, its recorder with them."""
    rank = member.rank
    if rank is None or member.role is not Role.RANK or not any(Calls in look for look in member.looks):
        return member
    looks = []
    for look in member.looks:
        noted = look.get(Calls)
        joined = join(look.get(Recorder), noted, rank) if noted is not None else None
        looks.append({**look, Recorder: joined} if joined is not None else look)
    return dataclasses.replace(member, looks=tuple(looks))


def _expected(snapshot: Snapshot, members: tuple[Member, ...], world_size: int | None) -> RankSet:
    """The ranks that should be on the hosts we looked at."""
    if snapshot.job.expected_ranks:
        return snapshot.job.expected_ranks
    here = ranks_here(members, world_size) if snapshot.live else RankSet()
    # One that went between the looks, where nobody promised it, may simply have finished.
    return here or RankSet(m.rank for m in members if m.role is Role.RANK and m.rank is not None and not m.gone)


def _world_size(snapshot: Snapshot, members: tuple[Member, ...]) -> int | None:
    if snapshot.job.world_size and snapshot.job.world_size <= MOST_RANKS:
        return snapshot.job.world_size
    ranks = [member.rank for member in members if member.role is Role.RANK and member.rank is not None]
    promised = [member.process.world_size or 0 for member in members if member.role is Role.RANK]
    return max((one for one in (*promised, max(ranks) + 1) if one <= MOST_RANKS), default=None) if ranks else None


def _events(snapshot: Snapshot) -> tuple[Event, ...]:
    sweeps = snapshot.sweeps[:1] if snapshot.live else snapshot.sweeps
    return tuple(
        event
        for sweep in sweeps
        for item in sweep.items
        if isinstance(item.record, Events)
        for event in item.record.events
    )  # fmt: skip


def _state(case: Case) -> State:
    """How the job fares: stuck when somebody has been waited for too long and does not move."""
    if not case.snapshot.live:
        return State.UNKNOWN
    alive = [standing for standing in case.standings.values() if not standing.member.dead]
    workers = _workers(case, alive)
    bodies = any(member.dead and member.role in _WORKERS for member in case.members)
    if (
        case.snapshot.processes
        and not workers
        and (not alive or bodies)
        and restarts(case) is None
        and not starters(case)
    ):
        return State.EXITED
    awaited = [
        root for root in case.graph.roots if root.waiters and case.stuck(root.age_s) and not commands_alone(case, root)
    ]
    for root in awaited:
        standing = case.standings.get(root.ref)
        if not _may_rest(case, root, standing):
            return State.SLOW if standing is not None and works(standing) else State.STUCK
    if any(_closed_long(case, cycle) for cycle in case.graph.cycles) or held_together(case):
        return State.STUCK
    if not awaited and (_somebody_gets_on(case, workers) or _in_rhythm(case)):
        return State.MOVING
    return State.UNKNOWN


_WORKERS = (Role.RANK, Role.OTHER)


def _workers(case: Case, alive: Sequence[Standing]) -> list[Standing]:
    """Who of the living does the job's work; where there are no ranks, the children of a parent that gets on may come and go."""
    workers = [one for one in alive if one.member.role in _WORKERS]
    parents = [one for one in alive if one.member.role is Role.LAUNCHER] if not case.ranks else []
    return workers + [one for one in parents if one.helped or one.moved or _at_work(one)]


def _somebody_gets_on(case: Case, workers: Iterable[Standing]) -> bool:
    """Whether a worker was seen to get on. A program without ranks that only wakes by the clock may wait for what never comes."""
    return any(gets_on(one) and (bool(case.ranks) or not naps(one)) for one in workers)


def _may_rest(case: Case, root: Root, standing: Standing | None) -> bool:
    """Whether somebody who is waited for for long may be where he should be."""
    return serves_idly(case, root) or may_await_orders(case, root) or (standing is not None and unclear(standing))


def _in_rhythm(case: Case) -> bool:
    """Whether nobody need have moved between the looks: the last collective is as young as the job's rhythm allows."""
    beat = rhythm(case.members)
    return beat is not None and beat.silent_s < RHYTHMS * beat.beat_s


def _at_work(standing: Standing) -> bool:
    """Whether a parent runs code of the job itself or wants a result, in place of waiting for its children alone."""
    return standing.wait.user >= 0 and standing.kind in (
        WaitKind.SLEEP,
        WaitKind.USER,
        WaitKind.CONDITION,
        WaitKind.QUEUE,
    )


def _closed_long(case: Case, cycle: tuple[ProcessRef, ...]) -> bool:
    """Whether a circle has stood for long, or for an unknown time: processes that talk to each other close one at any moment,
    and pauses as long as its ranks make now and then between their calls tell nothing."""
    age = circle_s(case, cycle)
    ranks = (member.rank for ref in cycle if (member := case.by_ref.get(ref)) is not None)
    pause_s = max((case.comparison.rhythm.get(rank, 0.0) for rank in ranks if rank is not None), default=0.0)
    return age is None or (case.stuck(age) and age >= RHYTHMS * pause_s)
