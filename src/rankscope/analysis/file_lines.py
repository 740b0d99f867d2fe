"""The lines of each file, as they stand there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..model.evidence.events import Event
from .case import Case
from .remembered import remembered


@remembered
def lines_by_file(case: Case) -> Mapping[str, Sequence[Event]]:
    """The lines of every file of which plain lines are kept, in their order."""
    by_file: dict[str, list[Event]] = {}
    for event in case.events:
        if event.event == "text.line":
            by_file.setdefault(event.file, []).append(event)
    return by_file
