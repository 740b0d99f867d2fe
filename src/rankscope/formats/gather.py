"""Files in any mix → one snapshot: every file is read by its content (``reading``), then all are joined (``joining``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ..model.evidence.events import Event
from ..model.snapshot import Snapshot
from . import flight_recorder
from .files import Progress, sources
from .joining import Joiner
from .reading import FileEvidence, Wish, read


def gather(paths: Iterable[str | Path], progress: Progress | None = None) -> Snapshot:
    """One snapshot of everything the files hold; a single snapshot file comes back as it is."""
    wish = Wish(pool=flight_recorder.Pool(), progress=progress)
    read_ones = [read(source, wish) for source in sources(paths)]
    found = [one for one in read_ones if isinstance(one, FileEvidence)]
    snapshots = [one for one in read_ones if isinstance(one, Snapshot)]
    if len(snapshots) == 1 and not any(found):
        return snapshots[0]
    return Joiner().join(found, snapshots)


def events(paths: Iterable[str | Path]) -> Iterator[Event]:
    """Everything the files say in the vocabulary of events, file by file, as it is read."""
    for source in sources(paths):
        one = read(source, Wish(keep_lines=False))
        if not isinstance(one, Snapshot):
            yield from one.events
