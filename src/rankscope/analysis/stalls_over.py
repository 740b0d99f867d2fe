"""Reports of Horovod's stall inspector that everybody got past: whoever it speaks of makes a step behind it."""

from __future__ import annotations

from collections.abc import Mapping

from ..model.evidence.events import Event
from ..model.labels import STEP
from ..model.patterns import regex
from .case import Case
from .remembered import remembered
from .saying import saying

# What it writes (horovod/common/stall_inspector.cc, operations.cc before): a sentence, a heading, and the tensors that wait,
# each with the ranks that have or lack it, or, from 0.19 on, each rank with the tensors that it lacks.
_REPORT = regex(
    r"submitted to be reduced, gathered or broadcasted by subset of ranks|\b(?:Stalled (?:ops|ranks)|Missing ranks):|"
    r"\[(?:missing|ready) ranks: ?(?P<ranks>\d{1,9}(?:, ?\d{1,9})*)|^(?P<rank>\d{1,9}): \[\w[^\]\n]{0,4000}(?:\]|\.\.\.)"
)
_NUMBER = regex(r"\d{1,9}")


def stall_over(case: Case, event: Event) -> bool:
    """Whether a line is of a stall report behind the last of which each rank that the log names makes a step.

    The step of a program that reduces its gradients is told when all have come to it: one of each rank is enough. A log that does
    not say whose its lines are shows nothing of this.
    """
    return _REPORT.search(event.text) is not None and _passed(case).get(event.file, False)


@remembered
def _passed(case: Case) -> Mapping[str, bool]:
    """By file with a report: whether each rank that the report or a line of the file is of makes a step behind the last one."""
    told = saying(case, _REPORT)
    last = {event.file: event.line for event in told}
    named: dict[str, set[int | None]] = {file: set() for file in last}
    for event in case.events:
        if event.file in named:
            named[event.file].add(event.rank)
    for event in told:
        for found in _REPORT.finditer(event.text):
            ranks = found["ranks"] or found["rank"] or ""
            named[event.file].update(map(int, _NUMBER.findall(ranks)))
    made: dict[str, set[int | None]] = {file: set() for file in last}
    for event in saying(case, STEP):
        if event.line > last.get(event.file, event.line):
            made[event.file].add(event.rank)
    return {file: None not in named[file] and len(named[file]) > 1 and named[file] <= made[file] for file in last}
