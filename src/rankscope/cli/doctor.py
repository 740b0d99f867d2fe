"""rankscope doctor: what can be seen here and what not, and what to do about it."""

from __future__ import annotations

import dataclasses
import json
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from ..errors import RankscopeError
from ..model.evidence.stacks import PythonStacks
from ..model.gap import Gap
from ..model.process import Process, ProcessRef, Role
from ..model.snapshot import Snapshot
from ..probe.sweep import Plan
from ..report.plain import clean, escaped
from . import _exit, _options, _target
from .diagnose import no_job

if TYPE_CHECKING:
    from ..probe.access import Access, Check
    from ..reach.gather import Remote

SCHEMA, VERSION = "rankscope/doctor", 1


@click.command(
    "doctor",
    short_help="Say what can be seen here, and what to do about the rest.",
    epilog="""\b
Examples:
  $ rankscope doctor              this host: rights, kernel settings, tools
  $ rankscope doctor pid:4587     and each process of this job
  $ rankscope doctor 'ssh:node[1-8]'     how far the way to each host leads
  $ rankscope doctor --json""",
)
@click.argument("target", required=False)
@_options.deadline_option
@_options.reaching
@_options.json_object_option
def command(target: str | None, deadline: float, as_json: bool, **reaching: Any) -> None:
    """Say what rankscope can see here and what not, and what to do about each.

    TARGET is nothing (this host), pid:N (and every process of the job that N belongs to: which engine reads its stacks, or
    why none can) or other hosts (slurm:JOBID, ssh:HOSTS, hostfile:PATH, mpi:PID: at which step the way to each ends: reach
    the host, start Python, see processes of a job, read their stacks). Exit code: 0 all can be seen, 1 something cannot, 2
    could not look.
    """
    chosen = _target.parse(target)
    remote = _options.reach(chosen, reaching)
    if remote is not None:
        raise click.exceptions.Exit(_walk(remote, deadline, as_json))
    if chosen.file is not None or (target is not None and chosen.pid is None):
        raise RankscopeError("doctor looks at living processes of this host", hint="rankscope doctor pid:N")
    raise click.exceptions.Exit(_here(chosen, deadline, as_json))


def _here(chosen: _target.Target, deadline: float, as_json: bool) -> int:
    """This host, and the processes of the job that was asked for; the exit code."""
    from ..probe import access

    checks = list(access.host())
    found = list(_members(chosen, deadline)) if chosen.pid is not None else []
    for line in [_json(checks, found)] if as_json else [*_lines(checks), *_process_lines(found)]:
        click.echo(line)
    well = all(check.fine for check in checks) and not any(one.refused for one, _, _ in found)
    return _exit.NOTHING_FOUND if well else _exit.FOUND


def _members(chosen: _target.Target, deadline: float) -> Iterator[tuple[Access, Process, str]]:
    """Each process of a job: what we may know of it, who it is, and how its stacks are read."""
    from .. import pipeline
    from ..probe import access

    here, jobs = pipeline.find(pipeline.Look(chosen.pid))
    if not jobs:
        raise no_job(chosen)
    plan = Plan(sweeps=1, interval_s=0.0, only=frozenset({"threads", "python-stacks"}), deadline_s=deadline)
    snapshot = pipeline.sweep(here, jobs[0], plan)
    served = _served(snapshot)
    members = {member.ref: member.process for member in pipeline.case_of(snapshot).members}
    for one in access.processes(tuple(members)):
        yield one, members[one.ref], served.get(one.ref, "is no Python program")


def _walk(remote: Remote, deadline: float, as_json: bool) -> int:
    """The way to each host, hosts of which the same is true together; the exit code."""
    from ..reach.hostnames import fold
    from ..reach.walk import PLAN, Step, walk

    progress = _options.Progress()
    ways = list(walk(remote, dataclasses.replace(PLAN, deadline_s=deadline), progress))
    progress.done()
    if as_json:
        click.echo(
            json.dumps({"schema": SCHEMA, "version": VERSION, "ways": [dataclasses.asdict(way) for way in ways]})
        )
    groups: dict[tuple[Step, str, str], list[str]] = {}
    for way in () if as_json else ways:
        groups.setdefault((way.step, way.detail, way.hint), []).append(way.host)
    for (step, detail, hint), hosts in groups.items():
        told = detail if step is Step.DONE else f"stops at: {step.value}: {detail}"
        for line in _wrapped("ok" if step is Step.DONE else "LIMITED", "", f"{fold(hosts)}: {told}"):
            click.echo(line)
        for line in _advice(hint):
            click.echo(line)
    return _exit.NOTHING_FOUND if all(way.step is Step.DONE for way in ways) else _exit.FOUND


def _served(snapshot: Snapshot) -> dict[ProcessRef | None, str]:
    """How the stacks of each process were read, or why not."""
    out: dict[ProcessRef | None, str] = {
        gap.process: _refusal(gap) for gap in snapshot.gaps if gap.what == "python-stacks"
    }
    for sweep in snapshot.sweeps:
        for item in sweep.items:
            if isinstance(item.record, PythonStacks):
                version = f"Python {item.record.python}" if item.record.python else "Python of unknown version"
                out[item.process] = f"{version}, stacks by {item.record.engine}"
    return out


def _refusal(gap: Gap) -> str:
    return f"no stacks: {gap.why.value}{f' ({gap.detail})' if gap.detail else ''}"


def _lines(checks: list[Check]) -> Iterator[str]:
    for check in checks:
        yield from _wrapped("ok" if check.fine else "LIMITED", check.name, check.text)
        yield from _advice(check.do)


def _advice(text: str) -> list[str]:
    """What to do about it; a command stays one line, so that it can be pasted."""
    from ..analysis.commands import typed

    margin = " " * 9 + f"{'try':<11}"
    return [margin + clean(text)] if typed(text) else _wrapped("", "try", text) if text else []


def _wrapped(word: str, name: str, text: str) -> list[str]:
    margin = " " * (20 if name else 9)
    head = f"{word:<9}{name:<11}" if name else f"{word:<9}"
    return textwrap.wrap(
        clean(text),
        _options.width(),
        initial_indent=head,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _process_lines(found: list[tuple[Access, Process, str]]) -> Iterator[str]:
    """Processes of which the same is true, together."""
    from ..report.people import phrase

    groups: dict[tuple[str, str, bool, Role], list[Process]] = {}
    for one, process, served in found:
        told = f"{served}{_where(one)}" if not one.refused else f"{one.refused}: {one.because}"
        groups.setdefault((told, one.do, not one.refused, process.role), []).append(process)
    for (told, do, fine, _), processes in groups.items():
        yield from _wrapped("ok" if fine else "LIMITED", "", f"{phrase(processes)}: {told}")
        yield from _advice(do)


def _where(one: Access) -> str:
    if one.other_pids:
        return " in a container of its own"
    return " with files of its own (another mount namespace)" if one.other_files else ""


def _json(checks: list[Check], found: list[tuple[Access, Process, str]]) -> str:
    processes: list[dict[str, Any]] = [
        {"host": one.ref.host, "pid": one.ref.pid, "role": process.role.value, "rank": process.rank, "uid": one.uid,
         "readable": not one.refused, "refused": one.refused, "because": one.because, "do": one.do,
         "other_pid_namespace": one.other_pids, "other_mount_namespace": one.other_files, "stacks": served}
        for one, process, served in found
    ]  # fmt: skip
    body = {"schema": SCHEMA, "version": VERSION, "checks": [dataclasses.asdict(check) for check in checks],
            "processes": processes}  # fmt: skip
    return escaped(json.dumps(body, ensure_ascii=False))
