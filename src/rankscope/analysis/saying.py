"""Who says something: each text is searched once, however many say it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..model.evidence.events import Event
from .case import Case
from .remembered import remembered


def saying(case: Case, *patterns: re.Pattern[str]) -> list[Event]:
    """The events of a case in whose text each of the patterns is found, in their order."""
    places = [
        places
        for text, places in _places(case).items()
        if all(pattern.search(text) is not None for pattern in patterns)
    ]
    return [case.events[at] for at in sorted(at for one in places for at in one)]


@remembered
def _places(case: Case) -> Mapping[str, list[int]]:
    """Where among the events of a case each text stands."""
    found: dict[str, list[int]] = {}
    for at, event in enumerate(case.events):
        found.setdefault(event.text, []).append(at)
    return found
