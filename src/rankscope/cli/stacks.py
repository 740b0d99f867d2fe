"""rankscope stacks: where everybody stands, merged over all ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import RankscopeError
from ..model.evidence.stacks import NativeStacks, PythonStacks
from ..model.process import Process, Role
from ..model.ranks import RankSet
from ..model.snapshot import Snapshot
from ..probe.engine import StackOptions
from ..probe.sweep import Plan
from . import _exit, _options, _target

if TYPE_CHECKING:
    from ..analysis.case import Case, Member
    from ..report.tree import Place

_KINDS = frozenset({"threads", "python-stacks", "versions"})
_DUMP_KINDS = frozenset({"python-stacks"})
_HELPERS = (Role.DATALOADER_WORKER, Role.COMPILE_WORKER, Role.CHECKPOINT_WRITER, Role.HELPER)


@dataclass(frozen=True)
class Wish:
    """What the user wants to see of a job; ``pid`` is shown whatever part it plays."""

    ranks: RankSet | None = None
    children: bool = False
    native: bool = False
    locals: bool = False
    source: bool = False
    raw: bool = False
    pid: int | None = None

    @property
    def plain_dumps(self) -> bool:
        """Dumps as they were read: nothing is compared, nobody is paused."""
        return self.raw and not self.native and not self.source


@click.command(
    "stacks",
    epilog="""\b
Examples:
  $ rankscope stacks                          every job on this host, merged
  $ rankscope stacks pid:4587 --ranks 0-3,7   these ranks of one job
  $ rankscope stacks pid:4587 --children --source
  $ rankscope stacks job.snap --locals        a snapshot, or anybody's dumps
  $ rankscope stacks pid:4587 --raw           one dump per thread""",
)
@click.argument("target", required=False)
@_options.ranks_option
@click.option("--children", is_flag=True, help="Loader workers and helpers too.")
@click.option("--native", is_flag=True, help="C and C++ frames: pauses one process of each group of equal stacks.")
@click.option("--locals", "show_locals", is_flag=True, help="Scalar local variables of the job's own frames.")
@click.option("--strings", is_flag=True, help="Strings among the locals too; they may hold secrets.")
@click.option("--source", is_flag=True, help="The source lines where the job's own code stands.")
@click.option("--raw", is_flag=True, help="One dump per thread, as py-spy prints it.")
@_options.engine_option
@_options.reaching
@_options.color_option
def command(
    target: str | None, ranks: RankSet | None, children: bool, native: bool, show_locals: bool, strings: bool,
    source: bool, raw: bool, engine: str, color: str, **reaching: Any,
) -> None:  # fmt: skip
    """Show where every rank stands, as one tree.

    Equal stacks are shown once, with the ranks that share them; a fork in the tree is where ranks went different ways.
    TARGET as for diagnose. Reads memory, pauses nobody; --native pauses one process of each group and says which. Exit
    code: 0 shown, 2 could not do it, 130 interrupted.
    """  # fmt: skip
    from .. import pipeline

    chosen = _target.parse(target)
    where = _options.where(chosen, reaching)
    wish = Wish(ranks, children, native, show_locals, source, raw, chosen.pid)
    options = StackOptions(locals=show_locals, strings=strings)
    only = _DUMP_KINDS if wish.plain_dumps else _KINDS
    plan = Plan(sweeps=1, interval_s=0.0, options=options, engine=engine, only=only)
    shown, complete = 0, True
    looks = (
        iter([_files(chosen.file)])
        if chosen.file is not None
        else pipeline.gather(pipeline.Look(chosen.pid, plan, **where))
    )
    for snapshot in looks:
        for line in _shown(snapshot, wish, plan, local=chosen.file is None and not where, color=color):
            click.echo(line, color=True)
        shown, complete = shown + 1, complete and (snapshot.complete or chosen.file is not None)
    if not shown:
        from .diagnose import no_job

        raise no_job(chosen)
    raise click.exceptions.Exit(_exit.NOTHING_FOUND if complete else _exit.INTERRUPTED)


def _files(path: Path) -> Snapshot:
    """A snapshot or anybody's dumps; their readers are loaded only where a file is named."""
    from ..formats.gather import gather

    return gather((path,))


def _shown(snapshot: Snapshot, wish: Wish, plan: Plan, local: bool, color: str) -> Iterator[str]:
    """The text of one job, piece by piece."""
    if wish.plain_dumps:
        yield from _dumps(snapshot, wish)
        return
    from .. import pipeline

    case = pipeline.case_of(snapshot)
    processes = tuple(member.process for member in case.members)
    chosen = _wanted(processes, wish)
    if wish.native:
        from ._native import with_native

        if not local:
            click.echo("native frames are taken on this host only; shown are those that the evidence holds", err=True)
        snapshot = with_native(case, chosen, plan) if local else snapshot
        case = pipeline.case_of(snapshot)
    members = [case.by_ref[process.ref] for process in chosen]
    yield _title(snapshot, processes, bool(members))
    yield from _raw(case, members, wish) if wish.raw else _trees(case, members, wish, color)
    yield from _foot(snapshot)


def _dumps(snapshot: Snapshot, wish: Wish) -> Iterator[str]:
    """One dump after another. Half of what the command costs otherwise is what this leaves out: no case is built."""
    from ..analysis.identity import resolve
    from ..report import raw

    stacks: dict[object, PythonStacks] = {
        item.process: item.record
        for sweep in snapshot.sweeps for item in sweep.items if isinstance(item.record, PythonStacks)
    }  # fmt: skip
    processes = resolve(snapshot.processes, stacks)
    chosen = _wanted(processes, wish)
    yield _title(snapshot, processes, bool(chosen))
    for process in _in_order(chosen):
        read = stacks.get(process.ref)
        yield raw.render(raw.Shown(process, read, read.python if read else None, wish.locals))
    yield from _foot(snapshot)


def _in_order(processes: Iterable[Process]) -> list[Process]:
    return sorted(processes, key=lambda one: (one.rank is None, one.rank or 0, one.ref.pid))


def _title(snapshot: Snapshot, processes: tuple[Process, ...], fits: bool) -> str:
    """The first line of a job, or that nobody of it is to be shown."""
    name, there = snapshot.job.name, _who_there_is(snapshot, processes)
    if not fits:
        gap = next(iter(snapshot.gaps), None) if not processes else None
        because = f"{gap.what}: {gap.detail}" if gap else f"it has {there}"
        raise RankscopeError(f"no process of {name or 'this job'} fits", because, "rankscope stacks --children")
    return f"{name or 'job'} ({snapshot.job.launcher}), {there}\n"


def _foot(snapshot: Snapshot) -> Iterator[str]:
    """What could not be had, and what the look cost the job."""
    gaps = tuple(gap for gap in snapshot.gaps if gap.what != "environ")
    if gaps:
        from ..report import screen

        yield from (f"unseen   {text}" for text in screen.unseen(gaps))
    if snapshot.effort.paused_ms_max:
        yield f"cost     longest pause {snapshot.effort.paused_ms_max:.0f} ms"


def _wanted(processes: tuple[Process, ...], wish: Wish) -> tuple[Process, ...]:
    """Ranks; their helpers when asked for; where nobody has a rank, every process that works."""
    ranks = any(process.role is Role.RANK for process in processes)
    return tuple(process for process in processes if _fits(process, wish, ranks))


def _fits(process: Process, wish: Wish, ranks: bool) -> bool:
    if process.ref.pid == wish.pid and process.role not in (Role.RANK, Role.LAUNCHER):
        return True
    if wish.ranks is not None and process.rank not in wish.ranks:
        return False
    if process.role is Role.RANK:
        return True
    if process.role in _HELPERS or process.owner is not None:
        return wish.children
    return wish.children or not ranks


def _who_there_is(snapshot: Snapshot, processes: tuple[Process, ...]) -> str:
    hosts = ", ".join(host.name for host in snapshot.hosts[:4])
    on = f" on {hosts}" if hosts else ""
    ranks = sum(process.role is Role.RANK for process in processes)
    return f"{ranks} ranks{on}" if ranks else f"{len(processes)} processes{on}, none of them known as a rank"


def _trees(case: Case, members: list[Member], wish: Wish, color: str) -> Iterator[str]:
    from ..analysis.merged import sections
    from ..report import tree

    chosen = {member.ref for member in members}
    made = sections(case, lambda member: member.ref in chosen, wish.native)
    if not made:
        yield "no stacks could be read\n"
    places = {place for section in made for place in tree.places(section)} if wish.source else set()
    options = tree.Options(_options.width(), _options.use_colour(color), wish.locals, _source(case, places))
    for section in made:
        yield tree.render(section, options)


def _raw(case: Case, members: list[Member], wish: Wish) -> Iterator[str]:
    from ..analysis.merged import sections
    from ..report import raw, tree

    chosen = {member.ref for member in members}
    places: set[Place] = set()
    if wish.source:
        places = {place for one in sections(case, lambda m: m.ref in chosen) for place in tree.places(one)}
    source = _source(case, places)
    for process in _in_order(member.process for member in members):
        member = case.by_ref[process.ref]
        read = member.latest(PythonStacks)
        stacks = (member.latest(NativeStacks) if wish.native else None) or read
        yield raw.render(raw.Shown(process, stacks, read.python if read else None, wish.locals, source))


def _source(case: Case, places: set[Place]) -> dict[Place, tuple[str, ...]]:
    """The lines around each place, from the processes' own files; a file of evidence has no processes."""
    if not places:
        return {}
    from ..probe import host, source_lines

    here = host.describe().name
    out: dict[Place, tuple[str, ...]] = {}
    asked = {place: source_lines.Place(*place) for place in places if place[0].host == here and place[0].started}
    read = source_lines.read(tuple(asked.values()), around=1)
    for place in places:
        lines = read.get(asked[place]) if place in asked else None
        out[place] = _numbered(lines, place[2]) if lines else ("(no source: the process is not on this host)",)
    return out


def _numbered(lines: Any, at: int) -> tuple[str, ...]:
    if lines.missing:
        return (f"(no source: {lines.missing})",)
    newer = ("(the file was changed after the process began: lines may not fit)",) if lines.newer else ()
    return (*newer, *(f"{'>' if number == at else ' '} {number:>4}  {text}".rstrip() for number, text in lines.lines))
