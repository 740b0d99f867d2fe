"""Files in any mix → one snapshot: every file is read by its content (``reading``), then all are joined (``joining``,
``together`` where a snapshot of living processes is among them)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from ..model.evidence.events import Event, Events
from ..model.gap import Gap, Why
from ..model.snapshot import Snapshot
from . import flight_recorder, together
from . import snapshot as own
from .files import Progress, Source, Stop, head_of, open_source, sources
from .joining import Joiner
from .live_log import with_events
from .reading import FileEvidence, Wish, interrupted, read
from .siblings import of_last_attempts

_NAMED = 8
_SILENT = "a snapshot in which no program says anything; without --events it is judged"


def gather(paths: Iterable[str | Path], progress: Progress | None = None, stop: Stop | None = None) -> Snapshot:
    """One snapshot of everything the files hold; a snapshot of living processes stays one, whatever lies beside it.

    With ``stop``, Ctrl-C ends the reading, and what was read until then is the snapshot. Raises RankscopeError where there is
    nothing but a snapshot that cannot be read.
    """
    paths = list(paths)
    read_ones = list(_read(paths, Wish(pool=flight_recorder.Pool(), progress=progress, stop=stop)))
    found = of_last_attempts([one for _, one in read_ones if isinstance(one, FileEvidence)])
    if not any(one for _, one in read_ones):
        _refuse(found)
    snapshots = together.of_one_job([(name, one) for name, one in read_ones if isinstance(one, Snapshot)])
    if len(snapshots) == 1 and snapshots[0].live:
        return together.beside(snapshots[0], Joiner().join(found, [])) if found else snapshots[0]
    if len(snapshots) == 1 and not any(found):
        return snapshots[0]
    joined = Joiner().join(found, snapshots)
    return joined if snapshots or any(found) or joined.gaps else replace(joined, gaps=tuple(_nothing_in(paths, found)))


def _nothing_in(paths: list[str | Path], found: list[FileEvidence]) -> Iterator[Gap]:
    """What is said where no file holds anything, and nothing kept us from reading them."""
    empty = [one.source.name for one in found if one.empty]
    for name in empty[:_NAMED]:
        yield Gap(name, Why.MISSING, "it is empty")
    if len(empty) > _NAMED:
        yield Gap(f"{len(empty) - _NAMED} more files", Why.MISSING, "they are empty as well")
    for path in paths if not found else ():
        yield Gap(str(path), Why.MISSING, "no file is in it")


def _read(paths: Iterable[str | Path], wish: Wish) -> Iterator[tuple[str, FileEvidence | Snapshot]]:
    """Every file by its name, until there are no more or somebody has had enough."""
    at: Source | None = None
    try:
        for at in sources(paths):
            yield at.name, read(at, wish)
            if wish.stopped:
                return
    except KeyboardInterrupt:
        if wish.stop is None:
            raise
        wish.stop.press()
        if at is not None:
            yield at.name, interrupted(at)


def _refuse(found: Iterable[FileEvidence]) -> None:
    for one in found:
        if one.unreadable is not None:
            raise one.unreadable


def is_snapshot(path: Path) -> bool:
    """Whether a file is a snapshot of ours."""
    stream, _ = open_source(next(iter(sources([path]))))
    with stream:
        return own.recognises(head_of(stream))


def events(paths: Iterable[str | Path]) -> Iterator[Event | Gap]:
    """Everything the files say in the vocabulary of events, file by file, as it is read; and what could not be read of them."""
    unreadable: list[FileEvidence] = []
    others = False
    for source in sources(paths):
        one = read(source, Wish(keep_lines=False))
        others = others or bool(one)
        if isinstance(one, FileEvidence) and one.unreadable is not None:
            unreadable.append(one)
        elif isinstance(one, Snapshot):
            yield from _of_snapshot(source.name, one)
        else:
            yield from one.events
            yield from one.gaps
    if not others:
        _refuse(unreadable)
    yield from (gap for one in unreadable for gap in one.gaps)


def _of_snapshot(name: str, one: Snapshot) -> Iterator[Event | Gap]:
    """What programs said in their logs; what the look itself did not see is for the verdict to tell."""
    items = [item for sweep in with_events(one).sweeps for item in sweep.items]
    said = [event for item in items if isinstance(item.record, Events) for event in item.record.events]
    yield from said
    if not said:
        yield Gap(name, Why.SKIPPED, _SILENT)
    yield from (
        replace(gap, what=f"{name}: {gap.what}") for gap in one.gaps if gap.why is Why.DAMAGED and gap.process is None
    )
