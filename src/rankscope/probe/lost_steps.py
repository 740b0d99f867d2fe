"""How long to go on asking: what stood still is waited for less, and in the end a whole kind of evidence is left out.

Every wait is taken from the time for all else. What a server that is gone holds up, it holds up at the next process as well
(``Collector.shared``); a process may hold its own memory alone, so that many tell what two do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..model.gap import Gap, Why
from ..model.process import Process, ProcessRef
from .collector import Collector

_ENOUGH, _ENOUGH_ALONE = 2, 8  # steps of a kind that stood still one after the other, until the others are left out
_SHORTER_AFTER = 2  # where so many of a kind stood still, a shorter wait tells as much
_LEAST_WAIT_S = 0.5


@dataclass
class LostSteps:
    """Which steps stood still: of each kind since one of them answered, and in all; and who did when asked for its own."""

    _still: dict[str, int] = field(default_factory=dict)
    _lost: dict[str, int] = field(default_factory=dict)
    _slow: set[ProcessRef] = field(default_factory=set)

    def shortened(self, wanted_s: float, collector: Collector, process: Process | None) -> float:
        """How long to wait for a step that would be given so much."""
        own = not collector.shared and process is not None and process.ref in self._slow
        if own or self._lost.get(collector.kind, 0) >= _SHORTER_AFTER:
            return min(wanted_s, max(_LEAST_WAIT_S, wanted_s / 4))
        return wanted_s

    def answered(self, collector: Collector) -> None:
        """A step of this kind brought something."""
        if not self.exhausted(collector):
            self._still.pop(collector.kind, None)

    def count(self, collector: Collector, process: Process | None) -> Iterator[Gap]:
        """A step of this kind stood still; a gap where that was the last one of its kind."""
        kind = collector.kind
        for counts in (self._still, self._lost):
            counts[kind] = counts.get(kind, 0) + 1
        if process is not None and not collector.shared:
            self._slow.add(process.ref)
        if self.exhausted(collector):
            detail = f"not asked of the other processes: {self._still[kind]} of them stood still one after the other"
            yield Gap(kind, Why.SKIPPED, detail)

    def exhausted(self, collector: Collector) -> bool:
        """Whether nobody is asked for this kind any more."""
        return self._still.get(collector.kind, 0) >= (_ENOUGH if collector.shared else _ENOUGH_ALONE)
