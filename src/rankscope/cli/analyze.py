"""rankscope analyze: judge evidence that lies on disk."""

from __future__ import annotations

import errno
import json
import os
import threading
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
from . import _exit, _options, _stop
from .diagnose import show

_PATIENCE_S = 2.0  # so long a pipe may be silent before anybody wonders


class _Named(click.Path):
    """A path that is not empty: pathlib takes an empty one for the directory one is in."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("an empty name; is a variable of the shell unset? (. is this directory)", param, ctx)
        return super().convert(value, param, ctx)


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
@click.argument("files", nargs=-1, required=True, type=_Named(readable=False, path_type=Path))
@click.option("--events", "as_events", is_flag=True, help="Only print what was read, as JSON lines.")
@click.option(
    "--entries", "wanted", type=_options.Ranks(), metavar="RANKS",
    help="Only print the recorder entries of these ranks (0-3,7).",
)  # fmt: skip
@_options.judging
@_options.json_option
@_options.color_option
def command(
    files: tuple[Path, ...], as_events: bool, wanted: RankSet | None, stuck_after: float, as_json: bool, color: str
) -> None:
    """Judge the evidence in FILES as one job.

    Snapshots, stacks (py-spy, gdb, pystack, faulthandler), flight recorder dumps, RAS reports, logs of any kind (also
    the JSON of collectors, notebooks, e-mails), directories and archives (tar, zip) of them, in any mix; gzip, bzip2 and xz
    are unpacked; - is stdin. Exit code: 0 nothing wrong found, 1 something found, 2 could not do it, 3 not enough
    evidence, 130 interrupted, 143 terminated; with --events or --entries 0 all was read, 3 not all of it, or nothing was
    there to print: see standard error. Ctrl-C ends the reading, and what was read is judged; a second one leaves at once.
    """
    from .. import pipeline
    from ..analysis import commands
    from ..formats.gather import events, gather

    _exist(files)
    stop = _stop.Stop().heed_sigterm()
    if as_events:
        raise click.exceptions.Exit(_printed(events(files)))
    with _reading(files) as progress:
        snapshot = gather(files, progress, stop)
    in_hand = bool(snapshot.processes) or any(sweep.items for sweep in snapshot.sweeps)
    stop.say(in_hand)
    if stop.pressed and not in_hand:
        raise click.exceptions.Exit(stop.code)
    if wanted is not None:
        unread = () if snapshot.live else snapshot.gaps  # what a look did not see is for the verdict to tell
        code = _printed([*timeline(snapshot, wanted), *unread])
        raise click.exceptions.Exit(stop.code if stop.pressed else code)
    diagnosis = commands.of_files(pipeline.judge(snapshot, stuck_after), _again(files))
    show(diagnosis, as_json, color)
    raise click.exceptions.Exit(stop.code if stop.pressed else _exit.code_of([diagnosis]))


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
    if not printed and not left_out:
        click.echo("rankscope: there was nothing to print", err=True)
    return _exit.NOT_ENOUGH if unread or not printed else _exit.NOTHING_FOUND


def _again(files: tuple[Path, ...]) -> str:
    """What later commands read: the one file, or of several the one that is a snapshot; empty where there is no such."""
    from ..formats.gather import is_snapshot

    named = [path for path in files if str(path) != "-"]
    if len(files) == 1:
        return str(named[0]) if named else ""
    saved = [path for path in named if path.is_file() and is_snapshot(path)]
    return str(saved[0]) if len(saved) == 1 else ""


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
            if error.errno == errno.ELOOP:
                raise RankscopeError(
                    f"cannot read {path}", "its symbolic links lead in a circle", f"ls -l {path}"
                ) from None
            because = (error.strerror or str(error)).lower()
        else:
            because = "permission denied"
        raise RankscopeError(f"cannot read {path}", because, f"sudo -E rankscope analyze {path}")


@contextmanager
def _reading(files: tuple[Path, ...]) -> Iterator[Callable[[str, int, int | None], None]]:
    """Says on a terminal which file is read and how far, a few times a second."""
    progress, last = _options.Progress(), 0.0

    def tell(name: str, done: int, total: int | None) -> None:
        nonlocal last
        if time.monotonic() - last > 0.2:
            last = time.monotonic()
            share = f"{done >> 20} MB" if total is None else f"{done >> 20} of {total >> 20} MB"
            progress(f"{plain.clean(name, 60)}, {share} read")

    moved, over = [time.monotonic()], threading.Event()
    unread = {str(path) for path in files if path.is_fifo()}
    if unread:
        threading.Thread(target=_say_what_is_waited_for, args=(unread, moved, over), daemon=True).start()

    def told(name: str, done: int, total: int | None) -> None:
        moved[0] = time.monotonic()
        unread.discard(name)
        tell(name, done, total)

    try:
        yield told
    finally:
        over.set()
        progress.done()


def _say_what_is_waited_for(unread: set[str], moved: list[float], over: threading.Event) -> None:
    """A named pipe opens when somebody writes to it (fifo(7)), which may be never."""
    while not over.wait(_PATIENCE_S / 4):
        if unread and time.monotonic() - moved[0] > _PATIENCE_S:
            pipes = ", ".join(sorted(unread))
            click.echo(plain.clean(f"rankscope: waits for somebody to write to {pipes}"), err=True)
            return
