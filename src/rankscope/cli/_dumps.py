"""Stacks as they were read, one dump after another: what ``rankscope stacks --raw`` shows when nothing has to be compared.

Nothing here needs the library of the command line, no case is built and nobody is judged, so the look itself is most of
what it costs. Somebody who types this is in a hurry: in seconds a watchdog may end what there is to see.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable

from ..errors import RankscopeError
from ..model.evidence.environ_now import EnvironNow
from ..model.evidence.stacks import PythonStacks
from ..model.process import Process, Role
from ..model.snapshot import Snapshot
from ..model.words import counted
from ..probe.engine import StackOptions
from ..probe.sweep import Plan
from ..report import hosts
from ..report.plain import clean
from . import _exit, _target

if TYPE_CHECKING:
    from ..model.ranks import RankSet

KINDS = frozenset({"python-stacks", "environ-now"})
_HELPERS = (Role.DATALOADER_WORKER, Role.COMPILE_WORKER, Role.CHECKPOINT_WRITER, Role.HELPER)


@dataclass(frozen=True)
class Choice:
    """What the user wants to see of a job; ``pid`` is shown whatever part it plays, ``target`` is the word that named it."""

    ranks: RankSet | None = None
    children: bool = False
    native: bool = False
    locals: bool = False
    source: bool = False
    raw: bool = False
    pid: int | None = None
    target: str = ""

    @property
    def plain_dumps(self) -> bool:
        """Dumps as they were read: nothing is compared, nobody is paused."""
        return self.raw and not self.native and not self.source


def run(target: str | None, children: bool) -> int:
    """The whole command for one target on this host; its exit code."""
    from .. import pipeline

    chosen = _target.parse(target)
    plan = Plan(sweeps=1, interval_s=0.0, options=StackOptions(locals=False), only=KINDS, deadline_s=_target.DEADLINE_S)
    choice = Choice(children=children, raw=True, pid=chosen.pid, target=target or "")
    looks = pipeline.gather(pipeline.Look(chosen.pid, plan))
    return each(looks, lambda snapshot: show(snapshot, choice), lambda text: sys.stdout.write(f"{text}\n"), chosen)


class Nobody(RankscopeError):
    """A job has no process that the user wants to see."""


def each(
    looks: Iterable[Snapshot], show: Callable[[Snapshot], Iterator[str]], write: Callable[[str], object],
    chosen: _target.Target,
) -> int:  # fmt: skip
    """Show each job that has somebody to show; the exit code. Raise what is true where there is none."""
    shown, passed = 0, list[Nobody]()
    for snapshot in looks:
        try:
            for text in show(snapshot):
                write(text)
            shown += 1
        except Nobody as error:
            passed.append(error)
        if chosen.file is None and not snapshot.complete:
            return _exit.INTERRUPTED
    if not shown and passed:
        raise passed[0]
    if not shown:
        from .diagnose import no_job

        raise no_job(chosen)
    for one in passed:
        print(_exit.told(RankscopeError(one.what, one.because)), file=sys.stderr)
    return _exit.NOTHING_FOUND


def show(snapshot: Snapshot, choice: Choice) -> Iterator[str]:
    """One dump after another. Half of what the command costs otherwise is what this leaves out: no case is built."""
    from ..analysis.identity import resolve
    from ..report import raw

    items = [item for sweep in snapshot.sweeps for item in sweep.items]
    stacks = {item.process: item.record for item in items if isinstance(item.record, PythonStacks)}
    environs = {item.process: item.record for item in items if item.process and isinstance(item.record, EnvironNow)}
    processes = resolve(snapshot.processes, stacks, environs)
    chosen = wanted(processes, choice)
    yield title(snapshot, processes, choice, bool(chosen))
    for process in in_order(chosen):
        read = stacks.get(process.ref)
        yield raw.render(raw.Shown(process, read, read.python if read else None, choice.locals))
    yield from foot(snapshot)


def in_order(processes: Iterable[Process]) -> list[Process]:
    return sorted(processes, key=lambda one: (one.rank is None, one.rank or 0, one.ref.pid))


def title(snapshot: Snapshot, processes: tuple[Process, ...], choice: Choice, fits: bool) -> str:
    """The first line of a job; raise Nobody when nobody of it is to be shown."""
    name, there = snapshot.job.name, _who_there_is(snapshot, processes)
    if not fits:
        gap = next(iter(snapshot.gaps), None) if not processes else None
        because = f"{gap.what}: {gap.detail}" if gap else f"it has {there}"
        raise Nobody(f"{name or 'the job'} has no process that matches", because, _instead(choice, bool(processes)))
    return clean(f"{name or 'job'} ({snapshot.job.launcher}), {there}") + "\n"


def _instead(choice: Choice, anybody: bool) -> str:
    """The command that shows more: everybody of the job, or what evidence without stacks tells."""
    target = [choice.target] if choice.target else []
    if target and not anybody:
        return shlex.join(["rankscope", "analyze", *target])
    return shlex.join(["rankscope", "stacks", *target, *(("--ranks", "0-3,7") if choice.children else ("--children",))])


def foot(snapshot: Snapshot) -> Iterator[str]:
    """What could not be had, and what the look cost the job."""
    missing = tuple(gap for gap in snapshot.gaps if gap.what != "environ")
    if missing:
        from ..report import gaps

        roster = {one.ref: one.rank for one in snapshot.processes if one.role is Role.RANK and one.rank is not None}
        yield from (f"unseen   {clean(text)}" for text in gaps.unseen(missing, roster))
    if snapshot.effort.paused_ms_max:
        yield f"cost     longest pause {snapshot.effort.paused_ms_max:.0f} ms"


def wanted(processes: tuple[Process, ...], choice: Choice) -> tuple[Process, ...]:
    """Ranks; their helpers when asked for; where nobody has a rank, every process that works."""
    ranks = any(process.role is Role.RANK for process in processes)
    return tuple(process for process in processes if _fits(process, choice, ranks))


def _fits(process: Process, choice: Choice, ranks: bool) -> bool:
    if process.ref.pid == choice.pid and process.role not in (Role.RANK, Role.LAUNCHER):
        return True
    if choice.ranks is not None and process.rank not in choice.ranks:
        return False
    if process.role is Role.RANK:
        return True
    if process.role in _HELPERS or process.owner is not None:
        return choice.children
    return choice.children or not ranks


def _who_there_is(snapshot: Snapshot, processes: tuple[Process, ...]) -> str:
    on = f" on {hosts.phrase([host.name for host in snapshot.hosts])}" if snapshot.hosts else ""
    ranks = sum(process.role is Role.RANK for process in processes)
    if ranks:
        return f"{counted(ranks, 'rank')}{on}"
    return f"{counted(len(processes), 'process')}{on}" + (", none known as a rank" if processes else "")
