"""The answers of several hosts → one snapshot for each job.

Parts of one job share a word of their meeting point (``Job.meeting``). Sweeps are joined by their number. A host whose
answer broke off keeps its processes present: not to have looked again is no sign that they ended.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from ..model.gap import Gap, Why
from ..model.process import ProcessRef, Role
from ..model.ranks import RankSet
from ..model.snapshot import Host, Item, Job, Snapshot, Sweep
from ..probe.slurm_job import SLURMD
from .answers import Answers, Part, refs_of, total

# Below this an offset may as well be the time that the first line took to reach us.
_CLOCK_S = 2.0


def join(answers: Answers, whole: bool = False) -> Iterator[Snapshot]:
    """One snapshot for each job, largest first. ``whole`` says that the hosts asked are all the job has."""
    parts = _distinct(part for name in answers.hosts for part in answers.inboxes[name].parts())
    idle = tuple(part for part in parts if not part.snapshot.processes)
    groups = jobs([part for part in parts if part.snapshot.processes])
    for group in sorted(groups, key=lambda group: -sum(len(part.snapshot.processes) for part in group)):
        yield _joined(group, idle if len(groups) == 1 or whole else (), answers, whole or len(groups) == 1)


def _distinct(parts: Iterable[Part]) -> list[Part]:
    """Each host once: one machine may have been asked under two names, two machines may bear one."""
    seen: dict[tuple[str, str, object], Part] = {}
    boots: dict[str, str] = {}
    for part in parts:
        if boots.setdefault(part.host.name, part.host.boot_id) != part.host.boot_id:
            part = renamed(part, f"{part.host.name}~{part.host.boot_id[:8]}")
        root = part.job.root or (part.snapshot.processes[0].ref if part.snapshot.processes else None)
        seen.setdefault((part.host.name, part.host.boot_id, root), part)
    return list(seen.values())


def renamed(part: Part, name: str) -> Part:
    """The same part under another name of its host."""

    def of(ref: ProcessRef) -> ProcessRef:
        return dataclasses.replace(ref, host=name)

    whole, root = part.snapshot, part.job.root
    job = dataclasses.replace(part.job, root=of(root) if root else None)
    sweeps = tuple(
        dataclasses.replace(
            sweep,
            present=tuple(map(of, sweep.present)),
            items=tuple(Item(of(item.process) if item.process else None, item.record) for item in sweep.items),
        )
        for sweep in whole.sweeps
    )
    snapshot = dataclasses.replace(
        whole, job=job, sweeps=sweeps,
        processes=tuple(dataclasses.replace(process, ref=of(process.ref)) for process in whole.processes),
        gaps=tuple(dataclasses.replace(gap, process=of(gap.process) if gap.process else None) for gap in whole.gaps),
    )  # fmt: skip
    return Part(dataclasses.replace(part.host, name=name), job, snapshot, part.ended)


def jobs(parts: list[Part]) -> list[list[Part]]:
    """Parts that belong together: those that share a word of a meeting point, else those that complete each other."""
    groups: list[tuple[set[str], list[Part]]] = []
    for part in parts:
        words = set(part.job.meeting)
        mine = [
            group for group in groups if (words & group[0]) or (not words and not group[0] and _fits(part, group[1]))
        ]
        rest = [group for group in groups if group not in mine]
        joined = [one for _, group in mine for one in group]
        groups = [*rest, (words.union(*(known for known, _ in mine)), [*joined, part])]
    return [group for _, group in groups]


def _fits(part: Part, others: list[Part]) -> bool:
    """Without a meeting point: another host, the same size and name, and no rank twice."""
    taken, mine = _ranks(others), _ranks([part])
    return (
        bool(mine) and bool(taken) and not (taken & mine)
        and all(other.host.name != part.host.name and other.job.world_size == part.job.world_size is not None
                and other.job.name == part.job.name for other in others)
    )  # fmt: skip


def _ranks(parts: Iterable[Part]) -> RankSet:
    return RankSet(
        process.rank
        for part in parts
        for process in part.snapshot.processes
        if process.role is Role.RANK and process.rank is not None
    )


def _joined(group: list[Part], idle: tuple[Part, ...], answers: Answers, whole: bool) -> Snapshot:
    hosts = tuple({part.host.name: part.host for part in (*group, *idle)}.values())
    gaps = [gap for part in group for gap in part.snapshot.gaps]
    gaps += [gap for host in hosts for gap in _clock(host)]
    gaps += [Gap("host", Why.GONE, "no process of this job runs there", host=part.host.name) for part in idle]
    if whole:
        gaps += list(answers.gaps.values())
    return Snapshot(
        job=_job(group), hosts=hosts,
        processes=tuple(process for part in group for process in part.snapshot.processes),
        sweeps=_sweeps(group), gaps=tuple(gaps),
        effort=dataclasses.replace(total(part.snapshot.effort for part in group), paused_ms_max=_paused(group)),
        complete=answers.complete,
    )  # fmt: skip


def _paused(group: list[Part]) -> float:
    """The longest pause of a process, as each record tells it."""
    items = (item for part in group for sweep in part.snapshot.sweeps for item in sweep.items)
    return max((getattr(item.record, "paused_ms", 0.0) for item in items), default=0.0)


def _clock(host: Host) -> Iterator[Gap]:
    """A wrong clock is worth a word: log times and recorder times of that host are not those of the others."""
    if skewed(host.clock_offset_s):
        detail = f"the clock of {host.name} is {ahead(host.clock_offset_s or 0.0)}"
        hint = "times in its logs are not those of the others (chronyc tracking, timedatectl)"
        yield Gap("clock", Why.DAMAGED, detail, hint, host=host.name)


def skewed(offset_s: float | None) -> bool:
    return abs(offset_s or 0.0) > _CLOCK_S


def ahead(offset_s: float) -> str:
    """How far a clock is from ours, in words."""
    return f"{abs(offset_s):.1f} s {'ahead of' if offset_s > 0 else 'behind'} ours"


def _job(group: list[Part]) -> Job:
    """The job as the hosts together know it: the largest promise of its size, the expected ranks of all."""
    first = max(group, key=lambda part: (part.job.world_size or 0, len(part.snapshot.processes)))
    expected = RankSet()
    for part in group:
        expected = expected | (part.job.expected_ranks or _ranks([part]))
    meeting = sorted({word for part in group for word in part.job.meeting})
    return dataclasses.replace(first.job, expected=str(expected), meeting=tuple(meeting))


def _sweeps(group: list[Part]) -> tuple[Sweep, ...]:
    """Sweeps by number; a host that has no sweep of a number keeps who was there before."""
    count = max((len(part.snapshot.sweeps) for part in group), default=0)
    out = []
    for number in range(count):
        there = [part.snapshot.sweeps[number] for part in group if number < len(part.snapshot.sweeps)]
        away = [part for part in group if number >= len(part.snapshot.sweeps)]
        present = [ref for sweep in there for ref in sweep.present]
        for part in away:
            last = part.snapshot.sweeps[-1].present if part.snapshot.sweeps else sorted(refs_of([part]), key=str)
            present.extend(last)
        at_s = min(_at(part, number) for part in group if number < len(part.snapshot.sweeps))
        out.append(Sweep(number, at_s, tuple(present), tuple(item for sweep in there for item in sweep.items)))
    return tuple(out)


def _at(part: Part, number: int) -> float:
    """When a host began a sweep, by our clock."""
    return part.snapshot.sweeps[number].at_s - (part.host.clock_offset_s or 0.0)


def nobody(answers: Answers) -> tuple[Host, ...]:
    """The hosts that answered and have no job."""
    return tuple(part.host for name in answers.hosts for part in answers.inboxes[name].parts())


def denied(answers: Answers) -> Iterator[Gap]:
    """What hosts without a job were not allowed to see."""
    for name in answers.hosts:
        for part in answers.inboxes[name].parts():
            yield from (gap for gap in part.snapshot.gaps if gap.why is Why.DENIED and gap.process is None)


def left_behind(answers: Answers) -> Iterator[Gap]:
    """What hosts without a job tell of programs that belong to none of its processes."""
    for name in answers.hosts:
        for part in answers.inboxes[name].parts():
            yield from (gap for gap in part.snapshot.gaps if gap.what == SLURMD)
