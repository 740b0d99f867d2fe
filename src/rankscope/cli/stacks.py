"""rankscope stacks: where everybody stands, merged over all ranks."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import RankscopeError
from ..model.evidence.stacks import NativeStacks
from ..model.process import Role
from ..model.ranks import RankSet
from ..model.snapshot import Item, Snapshot
from ..probe.engine import StackOptions
from ..probe.sweep import Plan
from . import _exit, _options, _target
from .diagnose import no_job

if TYPE_CHECKING:
    from ..analysis.case import Case, Member
    from ..report.tree import Place

# A dump of one process costs an engine up to a second; more representatives than this are no summary any more.
MOST_PAUSED = 16
_KINDS = frozenset({"threads", "python-stacks", "versions"})
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
@click.option("--engine", type=click.Choice(["auto", "memory", "py-spy"]), default="auto", show_default=True,
              help="Who reads the Python stacks.")  # fmt: skip
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
    plan = Plan(sweeps=1, interval_s=0.0, options=options, engine=engine, only=_KINDS)
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
        raise no_job(chosen)
    raise click.exceptions.Exit(_exit.NOTHING_FOUND if complete else _exit.INTERRUPTED)


def _files(path: Path) -> Snapshot:
    """A snapshot or anybody's dumps; their readers are loaded only where a file is named."""
    from ..formats.gather import gather

    return gather((path,))


def _shown(snapshot: Snapshot, wish: Wish, plan: Plan, local: bool, color: str) -> Iterator[str]:
    """The text of one job, piece by piece."""
    from .. import pipeline
    from ..report import screen

    case = pipeline.case_of(snapshot)
    if wish.native:
        if not local:
            click.echo("native frames are taken on this host only; shown are those that the evidence holds", err=True)
        snapshot = _with_native(case, wish, plan) if local else snapshot
        case = pipeline.case_of(snapshot)
    members = [member for member in case.members if _wanted(case, member, wish)]
    if not members:
        gap = next(iter(snapshot.gaps), None) if not case.members else None
        because = f"{gap.what}: {gap.detail}" if gap else f"it has {_who_there_is(case)}"
        raise RankscopeError(
            f"no process of {snapshot.job.name or 'this job'} fits", because, "rankscope stacks --children"
        )
    yield f"{snapshot.job.name or 'job'} ({snapshot.job.launcher}), {_who_there_is(case)}\n"
    yield from _raw(case, members, wish) if wish.raw else _trees(case, members, wish, color)
    for text in screen.unseen(tuple(gap for gap in snapshot.gaps if gap.what != "environ")):
        yield f"unseen   {text}"
    if snapshot.effort.paused_ms_max:
        yield f"cost     longest pause {snapshot.effort.paused_ms_max:.0f} ms"


def _wanted(case: Case, member: Member, wish: Wish) -> bool:
    """Ranks; their helpers when asked for; where nobody has a rank, every process that works."""
    if member.ref.pid == wish.pid and member.role not in (Role.RANK, Role.LAUNCHER):
        return True
    if wish.ranks is not None and member.rank not in wish.ranks:
        return False
    if member.role is Role.RANK:
        return True
    if member.role in _HELPERS or member.process.owner is not None:
        return wish.children
    ranks = bool(case.with_role(Role.RANK))
    return wish.children if ranks else True


def _who_there_is(case: Case) -> str:
    hosts = ", ".join(host.name for host in case.snapshot.hosts[:4])
    on = f" on {hosts}" if hosts else ""
    ranks = case.with_role(Role.RANK)
    return f"{len(ranks)} ranks{on}" if ranks else f"{len(case.members)} processes{on}, none of them known as a rank"


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
    for member in sorted(members, key=lambda one: (one.rank is None, one.rank or 0, one.ref.pid)):
        yield raw.render(member, wish.native, wish.locals, source)


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


def _with_native(case: Case, wish: Wish, plan: Plan) -> Snapshot:
    """The snapshot with native stacks: one process per group of equal Python stacks is paused and stands for the others."""
    from .. import pipeline
    from ..analysis.merged import alike
    from ..probe import host
    from ..probe.discover import Found
    from ..report.people import phrase

    found = alike(case, lambda member: _wanted(case, member, wish))
    groups = found[:MOST_PAUSED]
    if not groups:
        return case.snapshot
    chosen = [group[0].process for group in groups]
    for group in groups:
        click.echo(f"pausing {phrase([group[0].process])} (pid {group[0].ref.pid}) for its native frames"
                   + (f"; it stands for {phrase(m.process for m in group)}" if len(group) > 1 else ""), err=True)  # fmt: skip
    if len(found) > len(groups):
        click.echo(f"{len(found) - len(groups)} more groups stay without native frames: choose with --ranks", err=True)
    wanted = replace(
        plan, engine=_native_engine(), only=frozenset({"threads", "python-stacks"}),
        options=replace(plan.options, native=True, pause=True, deadline_s=30.0),
    )  # fmt: skip
    seen = pipeline.sweep(host.describe(), Found(case.snapshot.job, tuple(chosen)), wanted)
    return _joined(case.snapshot, seen, groups)


def _native_engine() -> str:
    """pystack shows the threads that Python does not know as well; it is an extra, and has no build for every machine."""
    both = all(map(importlib.util.find_spec, ("pystack", "rankscope.probe.engines.pystack")))
    return "pystack" if both else "py-spy"


def _joined(snapshot: Snapshot, native: Snapshot, groups: list[tuple[Member, ...]]) -> Snapshot:
    """The native stacks of each representative, said of its whole group."""
    found = {item.process: item.record for sweep in native.sweeps for item in sweep.items
             if isinstance(item.record, NativeStacks)}  # fmt: skip
    items = tuple(
        Item(member.ref, _said_of(found[group[0].ref], group[0], member))
        for group in groups if group[0].ref in found for member in group
    )  # fmt: skip
    last = snapshot.sweeps[-1]
    effort = replace(snapshot.effort, paused_ms_max=max(snapshot.effort.paused_ms_max, native.effort.paused_ms_max))
    return replace(
        snapshot, sweeps=(*snapshot.sweeps[:-1], replace(last, items=last.items + items)), effort=effort,
        gaps=snapshot.gaps + native.gaps, complete=snapshot.complete and native.complete,
    )  # fmt: skip


def _said_of(record: NativeStacks, of: Member, member: Member) -> NativeStacks:
    from ..analysis.merged import stand_in

    return record if of is member else replace(
        record, threads=tuple(stand_in(thread, of, member) for thread in record.threads)
    )  # fmt: skip
