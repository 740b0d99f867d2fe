"""rankscope analyze: judge evidence that lies on disk."""

from __future__ import annotations

from pathlib import Path

import click

from . import _exit, _options, _snapshots
from .diagnose import show


@click.command(
    "analyze",
    epilog="""\b
Examples:
  $ rankscope analyze job.snap
  $ rankscope analyze --json job.snap | jq .verdict""",
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@_options.judging
@_options.json_option
@_options.color_option
def command(files: tuple[Path, ...], stuck_after: float, as_json: bool, color: str) -> None:
    """Judge the evidence in FILES as one job."""
    from .. import pipeline

    diagnosis = pipeline.judge(_snapshots.load(files[0]), stuck_after)
    show(diagnosis, as_json, color)
    raise click.exceptions.Exit(_exit.code_of([diagnosis]))
