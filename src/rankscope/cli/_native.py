"""Native stacks for ``rankscope stacks``: one process of each group of equal Python stacks is paused, no other."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

import click

from .. import pipeline
from ..analysis.case import Case, Member
from ..analysis.merged import alike, stand_in
from ..errors import RankscopeError
from ..model.evidence.stacks import NativeStacks
from ..model.gap import Gap, Why
from ..model.process import Process
from ..model.snapshot import Item, Snapshot
from ..probe.discover import Found
from ..probe.sweep import Plan
from ..report.people import phrase
from ..report.plain import clean

# A dump of one process costs an engine up to a second; more representatives than this are no summary any more.
MOST_PAUSED = 16
_WHAT = "native-stacks"
# An engine that is ended while it holds a process may leave it stopped, so it is given far more time than it needs.
DEADLINE_S = 30.0


def with_native(case: Case, wanted: tuple[Process, ...], plan: Plan, look: pipeline.Look) -> Snapshot:
    """The snapshot with native stacks: one process per group of equal Python stacks is paused and stands for the others."""
    refs = {process.ref for process in wanted}
    found = alike(case, lambda member: member.ref in refs)
    groups = found[:MOST_PAUSED]
    if not groups:
        return case.snapshot
    chosen = [group[0].process for group in groups]
    for group in groups:
        others = f"; it stands for {phrase(m.process for m in group)}" if len(group) > 1 else ""
        who = f"{phrase([group[0].process])} (pid {group[0].ref.pid}{_where(group[0], look)})"
        click.echo(clean(f"pausing {who} for its native frames{others}"), err=True)
    if len(found) > len(groups):
        click.echo(f"{len(found) - len(groups)} more groups stay without native frames: choose with --ranks", err=True)
    plan = replace(plan, engine="py-spy") if look.remote is not None else plan  # what travels with the agent
    found_again = Found(case.snapshot.job, tuple(chosen))
    try:
        seen = pipeline.look_again(look, found_again, _with_pause(plan, len(chosen)))
    except RankscopeError as error:  # what is in hand is shown all the same
        gap = Gap(_WHAT, Why.GONE, "; ".join(filter(None, (error.what, error.because))))
        return replace(case.snapshot, gaps=(*case.snapshot.gaps, gap))
    except KeyboardInterrupt:
        return replace(case.snapshot, complete=False)
    return _joined(case.snapshot, seen, groups)


def _where(member: Member, look: pipeline.Look) -> str:
    return f" on {member.ref.host}" if look.remote is not None else ""


def _with_pause(plan: Plan, processes: int) -> Plan:
    return replace(
        plan, engine=_engine(plan.engine), only=frozenset({"threads", "python-stacks"}),
        options=replace(plan.options, native=True, pause=True, deadline_s=DEADLINE_S),
        deadline_s=plan.deadline_s + processes * DEADLINE_S,
    )  # fmt: skip


def _engine(asked: str) -> str:
    """pystack shows the threads that Python does not know as well; it is an extra, and has no build for every machine."""
    if asked in ("pystack", "py-spy"):
        return asked
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
    refused = {gap.process for gap in native.gaps}
    gone = tuple(
        Gap(_WHAT, Why.GONE, "it ended before its native frames were taken", process=group[0].ref)
        for group in groups if native.complete and group[0].ref not in found and group[0].ref not in refused
    )  # fmt: skip
    last = snapshot.sweeps[-1]
    effort = replace(snapshot.effort, paused_ms_max=max(snapshot.effort.paused_ms_max, native.effort.paused_ms_max))
    return replace(
        snapshot, sweeps=(*snapshot.sweeps[:-1], replace(last, items=last.items + items)), effort=effort,
        gaps=snapshot.gaps + native.gaps + gone, complete=snapshot.complete and native.complete,
    )  # fmt: skip


def _said_of(record: NativeStacks, of: Member, member: Member) -> NativeStacks:
    return record if of is member else replace(
        record, threads=tuple(stand_in(thread, of, member) for thread in record.threads)
    )  # fmt: skip
