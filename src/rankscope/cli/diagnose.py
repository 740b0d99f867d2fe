"""rankscope diagnose: a live look at a job, on this host or on all of its hosts, and the verdict."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import RankscopeError
from ..model.diagnosis import Diagnosis, Divergence
from ..model.gap import Why
from ..model.snapshot import Snapshot
from . import _exit, _options, _snapshots, _stop, _target

if TYPE_CHECKING:
    from .. import pipeline
    from ..model.evidence.source import Place


@click.command(
    "diagnose",
    epilog="""\b
Examples:
  $ rankscope diagnose                      every job on this host
  $ rankscope diagnose pid:4587             the job this process belongs to
  $ rankscope diagnose slurm:2180718        a Slurm job on all of its nodes
  $ rankscope diagnose 'ssh:node[1-8]'      the job on these hosts
  $ rankscope diagnose -o job.snap          and keep the evidence
  $ rankscope diagnose --stuck-after 120    a job with long steps
  $ rankscope diagnose --json | jq .verdict""",
)
@click.argument("target", required=False)
@_options.looking
@_options.reaching
@_options.gathering
@_options.judging
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Keep the snapshot in this file.")
@_options.json_option
@_options.color_option
def command(
    target: str | None, stuck_after: float, output: Path | None, as_json: bool, color: str, **look: Any
) -> None:
    """Say which rank hangs a job, and why.

    TARGET is nothing (every distributed Python job on this host), pid:N (the job that process N belongs to),
    slurm:JOBID, ssh:HOSTS, hostfile:PATH or mpi:PID (a job on all of its hosts), or a snapshot file. Looks twice, reads
    only, pauses nobody. Exit code: 0 nothing wrong found, 1 something found, 2 could not do it, 3 not enough evidence,
    130 interrupted, 143 terminated, 141 the reader of the output left, and nothing had been found.
    """
    from .. import pipeline

    chosen = _target.parse(target)
    where = _options.where(chosen, look)
    files = _snapshots.Files(output) if output is not None else None
    shown = _Shown(as_json, color)
    if chosen.file is not None:
        code = _saved(chosen.file, stuck_after, files, shown)
    else:
        code = _live(chosen, pipeline.Look(chosen.pid, _options.plan(**look), **where), stuck_after, files, shown)
    raise click.exceptions.Exit(code)


@dataclass(frozen=True)
class _Shown:
    """How the user wants to see a diagnosis."""

    as_json: bool
    color: str


def _saved(path: Path, stuck_after: float, files: _snapshots.Files | None, shown: _Shown) -> int:
    """Judge evidence that lies on disk; the exit code."""
    from .. import pipeline
    from ..analysis import commands

    snapshot = _snapshots.load(path)
    kept = files.add(snapshot) if files is not None else ""
    diagnosis = commands.of_files(pipeline.judge(snapshot, stuck_after), str(path))
    show(diagnosis, shown.as_json, shown.color)
    _say_kept(kept)
    return _exit.code_of([diagnosis])


def _live(
    chosen: _target.Target, look: pipeline.Look, stuck_after: float, files: _snapshots.Files | None, shown: _Shown
) -> int:
    """Look at one job after another, keep each before it is judged, and show it; the exit code."""
    from .. import pipeline

    stop, progress = _stop.Stop().heed_sigterm(), _options.Progress()
    told: list[Diagnosis] = []
    unkept = 0
    with stop:
        began = time.monotonic()
        for snapshot in pipeline.gather(look, progress, stuck_after):
            progress.done()
            if not snapshot.complete:
                stop.press()
            kept = stop.surely(functools.partial(_kept, files, snapshot))
            unkept += kept is None
            diagnosis = stop.surely(functools.partial(pipeline.told, look, snapshot, stuck_after, began))
            told.append(diagnosis)
            there = show(diagnosis, shown.as_json, shown.color, look, stop)
            _say_kept(kept)
            if stop.pressed or (not there and files is None):
                break
            began = time.monotonic()
    progress.done()
    if not told and not stop.pressed:
        raise no_job(chosen)
    stop.say(bool(told))
    if stop.pressed:
        return stop.code
    code = _exit.code_of(told)
    return _exit.COULD_NOT if unkept and code in (_exit.NOTHING_FOUND, _exit.NOT_ENOUGH) else code


def _kept(files: _snapshots.Files | None, snapshot: Snapshot) -> str | None:
    """The file that has a job now, empty where none was asked for; None, and the reason told, where it cannot be written."""
    try:
        return files.add(snapshot) if files is not None else ""
    except RankscopeError as error:  # the verdict is worth more than the file
        click.echo(_exit.told(error), err=True)
        return None


def _say_kept(where: str | None) -> None:
    if where:
        click.echo(f"snapshot kept in {where}", err=True)


def show(
    diagnosis: Diagnosis, as_json: bool, color: str, look: pipeline.Look | None = None, stop: _stop.Stop | None = None
) -> bool:
    """Print one diagnosis the way the user wants it; whether anybody still reads."""
    write = functools.partial(_text, diagnosis, as_json, color, look, stop)
    try:
        click.echo(stop.surely(write) if stop is not None else write(), color=True)
    except BrokenPipeError:  # what follows from the verdict, the exit code first of all, is no less true
        _exit.close_quietly()
        return False
    return True


def _text(diagnosis: Diagnosis, as_json: bool, color: str, look: pipeline.Look | None, stop: _stop.Stop | None) -> str:
    if as_json:
        from ..report import json_lines

        return json_lines.render(diagnosis)
    from ..report import screen

    source: dict[Place, str] = {}
    if diagnosis.parted is not None and look is not None and not (stop is not None and stop.pressed):
        source = _source(diagnosis.parted, look)
    return screen.render(diagnosis, _options.width(), _options.use_colour(color), source)


def _source(parted: Divergence, look: pipeline.Look) -> dict[Place, str]:
    """The lines of the job's own files that the paths name, from processes that still run."""
    from .. import pipeline
    from ..report import paths

    asked = tuple(dict.fromkeys(place for place in paths.places(parted) if place.ref.started))
    read = pipeline.source(look, asked, around=0)
    return {place: lines.lines[0][1] for place, lines in read.items() if lines.lines}


def no_job(chosen: _target.Target) -> RankscopeError:
    """What was looked for when nothing was found, and what could not be looked at."""
    from .. import pipeline

    hidden = pipeline.closed()
    beside = "".join(f";\n{gap.detail}" for gap in hidden)
    sudo = any(gap.why is Why.DENIED for gap in hidden)
    if chosen.pid is not None:
        return RankscopeError(
            f"process {chosen.pid} belongs to no distributed Python job",
            f"it is no Python program, and below it there is no job, or more than one{beside}",
            f"sudo -E rankscope diagnose pid:{chosen.pid}"
            if sudo
            else "rankscope diagnose   # finds the jobs by itself",
        )
    return RankscopeError(
        "no distributed Python job found on this host",
        "looked for torchrun, python -m torch.distributed.run, accelerate, RANK/WORLD_SIZE in the environment,\n"
        f"and Python programs with Python children{beside}",
        "sudo -E rankscope diagnose" if sudo else "rankscope diagnose pid:N   # N is the pid of one of its processes",
    )
