"""rankscope stacks: where everybody stands, merged over all ranks."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from ..model.evidence.stacks import NativeStacks, PythonStacks
from ..model.ranks import RankSet
from ..model.snapshot import Snapshot
from ..probe.engine import StackOptions
from ..probe.sweep import Plan
from . import _dumps, _options, _target
from ._dumps import Choice

if TYPE_CHECKING:
    from ..analysis.case import Case, Member
    from ..model.evidence.source import Place
    from ..pipeline import Look

_KINDS = frozenset({"threads", "python-stacks", "environ-now", "versions"})


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
@_options.deadline_option
@_options.reaching
@_options.gathering
@_options.color_option
def command(
    target: str | None, ranks: RankSet | None, children: bool, native: bool, show_locals: bool, strings: bool,
    source: bool, raw: bool, engine: str, deadline: float, color: str, **reaching: Any,
) -> None:  # fmt: skip
    """Show where every rank stands, as one tree.

    Equal stacks are shown once, with the ranks that share them; a fork in the tree is where ranks went different ways.
    TARGET as for diagnose. Reads memory, pauses nobody; --native pauses one process of each group and says which. Exit
    code: 0 shown, 2 could not do it, 130 interrupted.
    """  # fmt: skip
    from .. import pipeline

    chosen = _target.parse(target)
    where = _options.where(chosen, reaching)
    progress = _options.Progress()
    choice = Choice(ranks, children, native, show_locals, source, raw, chosen.pid, target or "")
    options = StackOptions(locals=show_locals, strings=strings)
    only = _dumps.KINDS if choice.plain_dumps else _KINDS
    plan = Plan(sweeps=1, interval_s=0.0, options=options, engine=engine, only=only, deadline_s=deadline)
    if chosen.file is not None:
        from . import _snapshots

        look, looks = None, iter([_snapshots.load(chosen.file)])
    else:
        look = pipeline.Look(chosen.pid, plan, **where)
        looks = pipeline.gather(look, progress)

    def show(snapshot: Snapshot) -> Iterator[str]:
        progress.done()
        return _shown(snapshot, choice, plan, look, color)

    raise click.exceptions.Exit(_dumps.each(looks, show, functools.partial(click.echo, color=True), chosen))


def _shown(snapshot: Snapshot, choice: Choice, plan: Plan, look: Look | None, color: str) -> Iterator[str]:
    """The text of one job, piece by piece."""
    if choice.plain_dumps:
        yield from _dumps.show(snapshot, choice)
        return
    from .. import pipeline

    case = pipeline.case_of(snapshot)
    processes = tuple(member.process for member in case.members)
    chosen = _dumps.wanted(processes, choice)
    if choice.native:
        from ._native import with_native

        if look is None:
            click.echo("native frames are taken of living processes; shown are those that the evidence holds", err=True)
        snapshot = with_native(case, chosen, plan, look) if look is not None else snapshot
        case = pipeline.case_of(snapshot)
    members = [case.by_ref[process.ref] for process in chosen]
    yield _dumps.title(snapshot, processes, choice, bool(members))
    yield from _raw(case, members, choice, look) if choice.raw else _trees(case, members, choice, look, color)
    yield from _dumps.foot(snapshot)
    if look is not None and choice.native and not snapshot.complete:
        raise KeyboardInterrupt  # it came while native frames were taken; all that is in hand has been shown


def _trees(case: Case, members: list[Member], choice: Choice, look: Look | None, color: str) -> Iterator[str]:
    from ..analysis.merged import sections
    from ..report import tree

    chosen = {member.ref for member in members}
    made = sections(case, lambda member: member.ref in chosen, choice.native)
    if not made:
        yield "no stacks could be read\n"
    places = {place for section in made for place in tree.places(section)} if choice.source else set()
    style = tree.Style(_options.width(), _options.use_colour(color), choice.locals, _source(look, places))
    for section in made:
        yield tree.render(section, style)


def _raw(case: Case, members: list[Member], choice: Choice, look: Look | None) -> Iterator[str]:
    from ..analysis.merged import sections
    from ..report import raw, tree

    chosen = {member.ref for member in members}
    places: set[Place] = set()
    if choice.source:
        places = {place for one in sections(case, lambda m: m.ref in chosen) for place in tree.places(one)}
    source = _source(look, places)
    for process in _dumps.in_order(member.process for member in members):
        member = case.by_ref[process.ref]
        read = member.latest(PythonStacks)
        stacks = (member.latest(NativeStacks) if choice.native else None) or read
        yield raw.render(raw.Shown(process, stacks, read.python if read else None, choice.locals, source))


def _source(look: Look | None, places: set[Place]) -> dict[Place, tuple[str, ...]]:
    """The lines around each place, from the processes' own files; a file of evidence has no processes."""
    if not places:
        return {}
    from .. import pipeline

    asked = tuple(place for place in places if look is not None and place.ref.started)
    read = pipeline.source(look, asked, around=1) if look is not None else {}
    out: dict[Place, tuple[str, ...]] = {}
    for place in places:
        lines = read.get(place)
        out[place] = (
            _numbered(lines, place.line) if lines else ("(no source: the process cannot be reached from here)",)
        )
    return out


def _numbered(lines: Any, at: int) -> tuple[str, ...]:
    if lines.missing:
        return (f"(no source: {lines.missing})",)
    newer = ("(the file was changed after the process began: lines may not fit)",) if lines.newer else ()
    return (*newer, *(f"{'>' if number == at else ' '} {number:>4}  {text}".rstrip() for number, text in lines.lines))
