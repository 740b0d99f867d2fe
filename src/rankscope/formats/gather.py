"""Files in any mix → one snapshot: every file is read by its content (``reading``), then all are joined (``joining``,
``together`` where a snapshot of living processes is among them)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ..model.evidence.events import Event
from ..model.snapshot import Snapshot
from . import flight_recorder, together
from . import snapshot as own
from .files import Progress, head_of, open_source, sources
from .joining import Joiner
from .reading import FileEvidence, Wish, read


def gather(paths: Iterable[str | Path], progress: Progress | None = None) -> Snapshot:
    """One snapshot of everything the files hold; a snapshot of living processes stays one, whatever lies beside it."""
    wish = Wish(pool=flight_recorder.Pool(), progress=progress)
    read_ones = [(source.name, read(source, wish)) for source in sources(paths)]
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


def events(paths: Iterable[str | Path]) -> Iterator[Event]:
    """Everything the files say in the vocabulary of events, file by file, as it is read."""
    for source in sources(paths):
        one = read(source, Wish(keep_lines=False))
        if not isinstance(one, Snapshot):
            yield from one.events
