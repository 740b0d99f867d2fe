"""The beat of a job: the usual time between a rank's collectives, and how long ago the last one was issued."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from ..model.evidence.recorder import Recorder
from .case import Member

_LAST = 64
# One pause is no rhythm yet: where ten beats are a reason to worry, twice that pause is.
_ONE_PAUSE = 1 / 5


@dataclass(frozen=True)
class Rhythm:
    """``beat_s`` is the median time between calls, ``silent_s`` the time since the last one."""

    beat_s: float
    silent_s: float


def rhythm(members: Iterable[Member]) -> Rhythm | None:
    """The slowest beat and the shortest silence over all ranks with a recorder; None where none tells."""
    beats = [beat for member in members if (found := member.latest(Recorder)) and (beat := _of(found))]
    if not beats:
        return None
    return Rhythm(max(beat.beat_s for beat in beats), min(beat.silent_s for beat in beats))


def _of(recorder: Recorder) -> Rhythm | None:
    times = [entry.created_ns for entry in recorder.entries[-_LAST:] if entry.created_ns]
    if len(times) < 2 or not recorder.read_at_ns:
        return None
    pauses = [(later - earlier) / 1e9 for earlier, later in zip(times, times[1:])]
    beat_s = statistics.median(pauses) if len(pauses) > 1 else pauses[0] * _ONE_PAUSE
    return Rhythm(max(0.0, beat_s), max(0.0, (recorder.read_at_ns - times[-1]) / 1e9))
