"""Several snapshots of one job → one, and what other files tell of its processes: the job stays as it was seen.

Parts of one job share a word of their meeting point (``Job.meeting``), or complete each other. Sweeps are joined by their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..model.evidence.events import Events
from ..model.gap import Gap, Why
from ..model.process import UNNUMBERED, Process, ProcessRef, Role
from ..model.ranks import RankSet
from ..model.snapshot import Effort, Item, Job, Snapshot, Sweep


def jobs(parts: Sequence[Snapshot]) -> list[list[int]]:
    """The numbers of parts that belong together: those that share a word of a meeting point, else those that complete each
    other."""
    groups: list[tuple[set[str], list[int]]] = []
    for number, part in enumerate(parts):
        words = set(part.job.meeting)
        mine = [
            group
            for group in groups
            if (words & group[0]) or (not words and not group[0] and _fits(part, [parts[one] for one in group[1]]))
        ]
        rest = [group for group in groups if group not in mine]
        together = [one for _, group in mine for one in group]
        groups = [*rest, (words.union(*(known for known, _ in mine)), [*together, number])]
    return [group for _, group in groups]


def _fits(part: Snapshot, others: list[Snapshot]) -> bool:
    """Without a meeting point: another host, the same size and name, and no rank twice."""
    taken, mine = ranks_of(others), ranks_of([part])
    return (
        bool(mine) and bool(taken) and not (taken & mine)
        and all(not (_hosts(other) & _hosts(part)) and other.job.world_size == part.job.world_size is not None
                and other.job.name == part.job.name for other in others)
    )  # fmt: skip


def _hosts(part: Snapshot) -> set[str]:
    return {host.name for host in part.hosts}


def ranks_of(parts: Iterable[Snapshot]) -> RankSet:
    """The ranks that have a process."""
    return RankSet(
        process.rank
        for part in parts
        for process in part.processes
        if process.role is Role.RANK and process.rank is not None
    )


def joined(parts: Sequence[Snapshot], ahead_s: Sequence[float] = ()) -> Snapshot:
    """Parts of one job as one snapshot; ``ahead_s`` is how far the clock of each was ahead of ours."""
    return Snapshot(
        job=_job(parts), hosts=tuple({host.name: host for part in parts for host in part.hosts}.values()),
        processes=tuple(process for part in parts for process in part.processes),
        sweeps=_sweeps(parts, ahead_s or [0.0] * len(parts)), gaps=tuple(gap for part in parts for gap in part.gaps),
        effort=total(part.effort for part in parts), complete=all(part.complete for part in parts),
    )  # fmt: skip


def total(efforts: Iterable[Effort]) -> Effort:
    """The cost of a look on several hosts at once: the longest of each."""
    efforts = list(efforts)
    if not efforts:
        return Effort()
    return Effort(
        max(one.took_s for one in efforts),
        max(one.slept_s for one in efforts),
        max(one.paused_ms_max for one in efforts),
    )


def _job(parts: Sequence[Snapshot]) -> Job:
    """The job as its parts together know it: the largest promise of its size, the expected ranks of all."""
    first = max(parts, key=lambda part: (part.job.world_size or 0, len(part.processes)))
    expected = RankSet()
    for part in parts:
        expected = expected | (part.job.expected_ranks or ranks_of([part]))
    meeting = sorted({word for part in parts for word in part.job.meeting})
    return replace(first.job, expected=str(expected), meeting=tuple(meeting))


def _sweeps(parts: Sequence[Snapshot], ahead_s: Sequence[float]) -> tuple[Sweep, ...]:
    """Sweeps by number; a part that has no sweep of a number keeps who was there before."""
    out = []
    for number in range(max((len(part.sweeps) for part in parts), default=0)):
        there = [(part.sweeps[number], ahead) for part, ahead in zip(parts, ahead_s) if number < len(part.sweeps)]
        present = [ref for sweep, _ in there for ref in sweep.present]
        for part in parts:
            if number >= len(part.sweeps):
                present.extend(part.sweeps[-1].present if part.sweeps else sorted(_refs(part), key=str))
        at_s = min(sweep.at_s - ahead for sweep, ahead in there)
        out.append(Sweep(number, at_s, tuple(present), tuple(item for sweep, _ in there for item in sweep.items)))
    return tuple(out)


def _refs(part: Snapshot) -> frozenset[ProcessRef]:
    return frozenset(process.ref for process in part.processes)


def of_one_job(named: Sequence[tuple[str, Snapshot]]) -> list[Snapshot]:
    """Saved snapshots with the parts of one job joined; of two looks at the same processes the later one, the other as a gap."""
    latest: dict[ProcessRef, int] = {}
    for number in sorted(range(len(named)), key=lambda number: _last_s(named[number][1])):
        latest.update(dict.fromkeys(_refs(named[number][1]), number))
    older = {number for number, (_, one) in enumerate(named) if any(latest[ref] != number for ref in _refs(one))}
    kept = [one for number, (_, one) in enumerate(named) if number not in older]
    gaps = tuple(
        Gap(named[number][0], Why.SKIPPED, "another snapshot shows processes of this one later; judge this one alone")
        for number in sorted(older)
    )
    groups = [[kept[number] for number in group] for group in jobs(kept)]
    made = [one for group in groups for one in ([joined(group)] if _one_job(group) else group)]
    return [replace(made[0], gaps=made[0].gaps + gaps), *made[1:]] if made else made


def _last_s(one: Snapshot) -> float:
    return one.sweeps[-1].at_s if one.sweeps else 0.0


def _one_job(group: list[Snapshot]) -> bool:
    """Whether several live parts name no rank twice: two runs may use one meeting point."""
    count = sum(len(ranks_of([one])) for one in group)
    return len(group) > 1 and all(one.live for one in group) and count == len(ranks_of(group))


def beside(seen: Snapshot, told: Snapshot) -> Snapshot:
    """A snapshot of living processes with what files that lay beside it tell: of its own processes what it does not show itself,
    of ranks elsewhere their stacks, of the job what is said.

    Who lives and who is gone only the snapshot says: a file may be older than the end of the process it tells of.
    """
    own = {process.ref: _counterpart(seen, process) for process in told.processes}
    elsewhere = tuple(
        process for process in told.processes if own[process.ref] is None and _elsewhere(seen, process, told)
    )
    refs = {ref: process.ref for ref, process in own.items() if process is not None}
    refs.update((process.ref, process.ref) for process in elsewhere)
    has = {(item.process, type(item.record)) for sweep in seen.sweeps for item in sweep.items}
    said: list[Item] = []
    shown: list[Item] = []
    left_out: dict[str, None] = {}
    for item in (item for sweep in told.sweeps for item in sweep.items):
        ref = refs.get(item.process) if item.process is not None else None
        if item.process is None or isinstance(item.record, Events):
            said.append(Item(ref, item.record))
        elif ref is None:
            left_out[_name(told, item.process)] = None
        elif (ref, type(item.record)) not in has:
            shown.append(Item(ref, item.record))
    first, *rest = seen.sweeps or (Sweep(0, 0.0),)
    sweeps = [replace(first, items=(*first.items, *said)), *rest]
    sweeps[-1] = replace(sweeps[-1], items=(*sweeps[-1].items, *shown))
    present = tuple(process.ref for process in elsewhere)
    return replace(
        seen, processes=(*seen.processes, *elsewhere),
        sweeps=tuple(replace(sweep, present=(*sweep.present, *present)) for sweep in sweeps),
        gaps=(*seen.gaps, *told.gaps, *(_no_process(name) for name in left_out)),
    )  # fmt: skip


def _counterpart(seen: Snapshot, process: Process) -> Process | None:
    """The process of a snapshot that a file tells of: by its number, else the one of its rank."""
    if process.ref.started != UNNUMBERED:
        found = [one for one in seen.processes if one.ref.pid == process.ref.pid]
        return found[0] if len(found) == 1 else None
    of_rank = [one for one in seen.processes if one.role is Role.RANK and one.rank == process.rank is not None]
    return of_rank[0] if len(of_rank) == 1 and process.role is Role.RANK else None


def _elsewhere(seen: Snapshot, process: Process, told: Snapshot) -> bool:
    """Whether a file shows a rank of a host that the snapshot did not look at, and more of it than its words."""
    shown = any(
        item.process == process.ref and not isinstance(item.record, Events)
        for sweep in told.sweeps
        for item in sweep.items
    )
    here = seen.job.expected_ranks | ranks_of([seen])
    return shown and process.role is Role.RANK and process.rank is not None and process.rank not in here


def _name(told: Snapshot, ref: ProcessRef) -> str:
    return next((process.label or str(ref) for process in told.processes if process.ref == ref), str(ref))


def _no_process(name: str) -> Gap:
    return Gap(name, Why.SKIPPED, "the snapshot beside it has no such process; judge this file alone")
