"""rankscope diagnose: a live look at a job, on this host or on all of its hosts, and the verdict."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import RankscopeError
from ..model.diagnosis import Diagnosis, Divergence
from ..model.snapshot import Snapshot
from . import _exit, _options, _snapshots, _target

if TYPE_CHECKING:
    from ..pipeline import Look
    from ..report.paths import Place


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
    130 interrupted.
    """
    from .. import pipeline
    from ..analysis import commands

    chosen = _target.parse(target)
    where = _options.where(chosen, look)
    progress = _options.Progress()
    seen: list[tuple[Snapshot, Diagnosis]] = []
    interrupted = False
    if chosen.file is not None:
        snapshot = _snapshots.load(chosen.file)
        seen.append((snapshot, commands.of_file(pipeline.judge(snapshot, stuck_after), str(chosen.file))))
        show(seen[0][1], as_json, color)
    else:
        wanted = pipeline.Look(chosen.pid, _options.plan(**look), **where)
        try:
            for one in pipeline.diagnose(wanted, stuck_after, progress):
                progress.done()
                seen.append(one)
                show(one[1], as_json, color, wanted)
                interrupted = interrupted or not one[0].complete
        except KeyboardInterrupt:
            interrupted = True
        if not seen and not interrupted:
            raise no_job(chosen)
    if interrupted:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second Ctrl-C leaves at once
        click.echo("rankscope: interrupted; this is what was in hand", err=True)
    if output is not None:
        _snapshots.write(output, [snapshot for snapshot, _ in seen])
        click.echo(f"snapshot kept in {output}", err=True)
    raise click.exceptions.Exit(_exit.code_of([diagnosis for _, diagnosis in seen], interrupted))


def show(diagnosis: Diagnosis, as_json: bool, color: str, look: Look | None = None) -> None:
    """Print one diagnosis the way the user wants it."""
    if as_json:
        from ..report import json_lines

        click.echo(json_lines.render(diagnosis))
    else:
        from ..report import screen

        source = _source(diagnosis.parted, look) if diagnosis.parted is not None and look is not None else {}
        click.echo(screen.render(diagnosis, _options.width(), _options.use_colour(color), source), color=True)


def _source(parted: Divergence, look: Look) -> dict[Place, str]:
    """The lines of the job's own files that the paths name, from processes that still run."""
    from .. import pipeline
    from ..probe import source_lines
    from ..report import paths

    asked = {place: source_lines.Place(*place) for place in paths.places(parted) if place[0].started}
    read = pipeline.source(look, tuple(dict.fromkeys(asked.values())), around=0)
    return {place: lines.lines[0][1] for place, one in asked.items() if (lines := read.get(one)) and lines.lines}


def no_job(chosen: _target.Target) -> RankscopeError:
    """What was looked for when nothing was found."""
    if chosen.pid is not None:
        return RankscopeError(
            f"process {chosen.pid} belongs to no distributed Python job",
            "it is no Python program, and below it there is no job, or more than one",
            "rankscope diagnose            (finds the jobs by itself)",
        )
    return RankscopeError(
        "no distributed Python job found on this host",
        "looked for torchrun, python -m torch.distributed.run, accelerate, RANK/WORLD_SIZE in the environment,\n"
        "           and Python programs with Python children",
        "rankscope diagnose pid:N      with the pid of one of its processes",
    )
