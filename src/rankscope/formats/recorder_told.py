"""A dump that a live process told of itself → its recorder, as short as one read from memory."""

from __future__ import annotations

from dataclasses import replace

from ..model.evidence.recorder import Recorder
from ..model.evidence.recorder_dump import RecorderDump
from ..model.gap import Gap, Why
from . import flight_recorder

_NEWEST = 128
_MOST_OPEN = 4096


def read(dump: RecorderDump) -> Recorder | Gap:
    """The unfinished operations and the newest finished ones, as of the moment at which the dump was made."""
    try:
        found = flight_recorder.read(dump.data(), dump.place)
    except ValueError as error:
        return Gap("recorder", Why.DAMAGED, f"{dump.place}: {error}")
    if isinstance(found, Gap):
        return found
    entries = tuple(found.entries)
    opened = {entry.id for entry in [one for one in entries if not one.done][-_MOST_OPEN:]}
    newest = {entry.id for entry in entries[-_NEWEST:]}
    kept = tuple(entry for entry in entries if entry.id in opened or entry.id in newest)
    return replace(found, entries=kept, source=dump.source, read_at_ns=dump.written_ns)
