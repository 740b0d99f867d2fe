"""rankscope snapshot: keep the evidence now, judge it later or elsewhere."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import click

from ..model.words import counted
from ..report.plain import clean
from . import _exit, _options, _snapshots, _stop, _target
from .diagnose import no_job


@click.command(
    "snapshot",
    epilog="""\b
Examples:
  $ rankscope snapshot -o job.snap
  $ rankscope snapshot pid:4587 -o job.snap --sweeps 3
  $ rankscope analyze job.snap""",
)
@click.argument("target", required=False)
@_options.looking
@_options.reaching
@_options.gathering
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The file to write."
)
def command(target: str | None, output: Path, **look: Any) -> None:
    """Gather the evidence of a job into a file (mode 0600).

    TARGET as for diagnose. Several jobs on one host go to several files. The file holds no environment values outside a
    known list, no string locals and no arguments that look like credentials.
    """
    from .. import pipeline

    chosen = _target.parse(target)
    where = _options.where(chosen, look)
    files = _snapshots.Files(output)
    stop, progress, count = _stop.Stop().heed_sigterm(), _options.Progress(), 0
    with stop:
        for snapshot in pipeline.gather(pipeline.Look(chosen.pid, _options.plan(**look), **where), progress):
            progress.done()
            if not snapshot.complete:
                stop.press()
            kept = stop.surely(functools.partial(files.add, snapshot))
            count += 1
            name = clean(snapshot.job.name or "a job", 60)
            click.echo(f"{counted(len(snapshot.processes), 'process')} of {name} kept in {kept}", err=True)
            if stop.pressed:
                break
    progress.done()
    if not count and not stop.pressed:
        raise no_job(chosen)
    stop.say(bool(count))
    raise click.exceptions.Exit(stop.code if stop.pressed else _exit.NOTHING_FOUND)
