"""The answers of several hosts → one snapshot for each job.

Parts of one job share a word of their meeting point (``Job.meeting``). Sweeps are joined by their number. A host whose
answer broke off keeps its processes present: not to have looked again is no sign that they ended.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from ..formats import together
from ..model.gap import Gap, Why
from ..model.process import ProcessRef
from ..model.snapshot import Host, Item, Snapshot
from ..probe.slurm_job import SLURMD
from .answers import Answers, Part

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
    """A part with its host under another name, in all that it says."""

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
    return [[parts[number] for number in group] for group in together.jobs([_of_host(part) for part in parts])]


def _of_host(part: Part) -> Snapshot:
    """What one host told, as a snapshot of its own."""
    return dataclasses.replace(part.snapshot, job=part.job, hosts=(part.host,))


def _joined(group: list[Part], idle: tuple[Part, ...], answers: Answers, whole: bool) -> Snapshot:
    hosts = tuple({part.host.name: part.host for part in (*group, *idle)}.values())
    gaps = [gap for part in group for gap in part.snapshot.gaps]
    gaps += [gap for host in hosts for gap in _clock(host)]
    gaps += [Gap("host", Why.GONE, "no process of this job runs there", host=part.host.name) for part in idle]
    if whole:
        gaps += list(answers.gaps.values())
    found = together.joined([_of_host(part) for part in group], [part.host.clock_offset_s or 0.0 for part in group])
    effort = dataclasses.replace(found.effort, paused_ms_max=_paused(group))
    return dataclasses.replace(found, hosts=hosts, gaps=tuple(gaps), effort=effort, complete=answers.complete)


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
