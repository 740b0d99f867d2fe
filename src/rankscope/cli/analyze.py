"""rankscope analyze: judge evidence that lies on disk."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ..errors import RankscopeError
from ..model.evidence.events import Event
from ..model.gap import Gap, Why
from ..model.ranks import RankSet
from ..report import plain
from ..report.entries import lines as timeline
from . import _exit, _options
from .diagnose import show


@click.command(
    "analyze",
    epilog="""\b
Examples:
  $ rankscope analyze job.snap
  $ rankscope analyze logs/ dumps/ dmesg.txt
  $ rankscope analyze --json job.snap | jq .verdict
  $ kubectl logs worker-3 | rankscope analyze -
  $ rankscope analyze --events train.log
  $ rankscope analyze --entries 0,5 dumps/""",
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--events", "as_events", is_flag=True, help="Only print what was read, as JSON lines.")
@click.option("--entries", metavar="RANKS", help="Only print the recorder entries of these ranks (0-3,7).")
@_options.judging
@_options.json_option
@_options.color_option
def command(
    files: tuple[Path, ...], as_events: bool, entries: str | None, stuck_after: float, as_json: bool, color: str
) -> None:
    """Judge the evidence in FILES as one job.

    Snapshots, stacks (py-spy, gdb, pystack, faulthandler), flight recorder dumps, RAS reports, logs of any kind (also
    the JSON of collectors, and notebooks), directories and archives (tar, zip) of them, in any mix; gzip, bzip2 and xz
    are unpacked; - is stdin. Exit code: 0 nothing wrong found, 1 something found, 2 could not do it, 3 not enough
    evidence; with --events or --entries 0 all was read, 3 not all of it, or nothing: see standard error.
    """
    from .. import pipeline
    from ..analysis import commands
    from ..formats.gather import events, gather

    wanted = ranks_of(entries) if entries is not None else None
    _exist(files)
    if as_events:
        raise click.exceptions.Exit(_printed(events(files)))
    with _reading() as progress:
        snapshot = gather(files, progress)
    if wanted is not None:
        unread = () if snapshot.live else snapshot.gaps  # what a look did not see is for the verdict to tell
        raise click.exceptions.Exit(_printed([*timeline(snapshot, wanted), *unread]))
    diagnosis = commands.of_files(pipeline.judge(snapshot, stuck_after), _again(files))
    show(diagnosis, as_json, color)
    raise click.exceptions.Exit(_exit.code_of([diagnosis]))


def _printed(read: Iterable[Event | Gap | str]) -> int:
    """Print what was read, and on standard error what was not; the exit code that follows."""
    printed = unread = left_out = False
    for one in read:
        if isinstance(one, Gap):
            detail = f" ({one.detail})" if one.detail else ""
            click.echo(plain.clean(f"rankscope: {one.what}: {one.why.value}{detail}"), err=True)
            left_out, unread = True, unread or one.why is not Why.SKIPPED
        else:
            click.echo(one if isinstance(one, str) else plain.escaped(json.dumps(flat(one), ensure_ascii=False)))
            printed = True
    return _exit.NOT_ENOUGH if unread or (left_out and not printed) else _exit.NOTHING_FOUND


def _again(files: tuple[Path, ...]) -> str:
    """What later commands read: the one file, or of several the one that is a snapshot; empty where there is no such."""
    from ..formats.gather import is_snapshot

    named = [path for path in files if str(path) != "-"]
    if len(files) == 1:
        return str(named[0]) if named else ""
    saved = [path for path in named if path.is_file() and is_snapshot(path)]
    return str(saved[0]) if len(saved) == 1 else ""


def ranks_of(text: str) -> RankSet:
    """The ranks that somebody asked for."""
    try:
        return RankSet.parse(text)
    except ValueError as error:
        raise RankscopeError(
            str(error), "ranks are written 0-3,7", "rankscope analyze --entries 0-3,7 dumps/"
        ) from None


def flat(event: Event) -> dict[str, Any]:
    """An event as one object: where it stands, what it is, and its fields."""
    body: dict[str, Any] = {"file": event.file, "line": event.line, "event": event.event}
    for name in ("rank", "host", "pid", "at_s"):
        if getattr(event, name) is not None:
            body[name] = getattr(event, name)
    return body | {name: list(value) if isinstance(value, tuple) else value for name, value in event.fields.items()}


def _exist(files: tuple[Path, ...]) -> None:
    for path in files:
        if str(path) == "-" or os.access(path, os.R_OK):
            continue
        try:
            os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            raise RankscopeError(
                f"cannot read {path}", "there is no such file or directory", f"ls -l {path.parent}"
            ) from None
        except OSError as error:
            because = (error.strerror or str(error)).lower()
        else:
            because = "permission denied"
        raise RankscopeError(f"cannot read {path}", because, f"sudo -E rankscope analyze {path}")


@contextmanager
def _reading() -> Iterator[Callable[[str, int, int | None], None]]:
    """Says on a terminal which file is read and how far, a few times a second."""
    progress, last = _options.Progress(), 0.0

    def tell(name: str, done: int, total: int | None) -> None:
        nonlocal last
        if time.monotonic() - last > 0.2:
            last = time.monotonic()
            share = f"{done >> 20} MB" if total is None else f"{done >> 20} of {total >> 20} MB"
            progress(f"{plain.clean(name, 60)}, {share} read")

    try:
        yield tell
    finally:
        progress.done()
