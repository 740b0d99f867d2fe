"""rankscope snapshot: keep the evidence now, judge it later or elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from . import _exit, _options, _snapshots, _target
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
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The file to write."
)
def command(target: str | None, output: Path, **look: Any) -> None:
    """Gather the evidence of a job into a file (mode 0600).

    TARGET as for diagnose. Several jobs on one host go to several files. The file holds no environment values outside a
    known list, no string locals and no credentials of command lines.
    """
    from .. import pipeline

    chosen = _target.parse(target)
    progress = _options.Progress()
    where = _options.where(chosen, look)
    snapshots = []
    for snapshot in pipeline.gather(pipeline.Look(chosen.pid, _options.plan(**look), **where), progress):
        snapshots.append(snapshot)
        if not snapshot.complete:
            break
    progress.done()
    if not snapshots:
        raise no_job(chosen)
    _snapshots.write(output, snapshots)
    click.echo(
        f"{sum(len(one.processes) for one in snapshots)} processes of {len(snapshots)} job(s) kept in {output}",
        err=True,
    )
    raise click.exceptions.Exit(_exit.NOTHING_FOUND if snapshots[-1].complete else _exit.INTERRUPTED)
