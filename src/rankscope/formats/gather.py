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
from .files import Progress, head_of, open_source, sources
from .joining import Joiner
from .live_log import with_events
from .reading import FileEvidence, Wish, read

_BROKEN_OFF = "reading was interrupted here; of this file and those after it nothing counts"
_SILENT = "a snapshot in which no program says anything; without --events it is judged"


def gather(paths: Iterable[str | Path], progress: Progress | None = None) -> Snapshot:
    """One snapshot of everything the files hold; a snapshot of living processes stays one, whatever lies beside it.
    An interruption keeps what has been read."""
    wish = Wish(pool=flight_recorder.Pool(), progress=progress)
    read_ones: list[tuple[str, FileEvidence | Snapshot]] = []
    broken_off: Gap | None = None
    reading = "files"
    try:
        for source in sources(paths):
            reading = source.name
            read_ones.append((source.name, read(source, wish)))
    except KeyboardInterrupt:
        broken_off = Gap(reading, Why.SKIPPED, _BROKEN_OFF)
    joined = _joined(read_ones)
    return replace(joined, complete=False, gaps=(*joined.gaps, broken_off)) if broken_off else joined


def _joined(read_ones: list[tuple[str, FileEvidence | Snapshot]]) -> Snapshot:
    found = [one for _, one in read_ones if isinstance(one, FileEvidence)]
    snapshots = together.of_one_job([(name, one) for name, one in read_ones if isinstance(one, Snapshot)])
    if len(snapshots) == 1 and snapshots[0].live:
        return together.beside(snapshots[0], Joiner().join(found, [])) if found else snapshots[0]
    if len(snapshots) == 1 and not any(found):
        return snapshots[0]
    return Joiner().join(found, snapshots)


def is_snapshot(path: Path) -> bool:
    """Whether a file is a snapshot of ours."""
    stream, _ = open_source(next(iter(sources([path]))))
    with stream:
        return own.recognises(head_of(stream))


def events(paths: Iterable[str | Path]) -> Iterator[Event | Gap]:
    """Everything the files say in the vocabulary of events, file by file, as it is read; and what could not be read of them."""
    for source in sources(paths):
        one = read(source, Wish(keep_lines=False))
        if isinstance(one, Snapshot):
            yield from _of_snapshot(source.name, one)
        else:
            yield from one.events
            yield from one.gaps


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
