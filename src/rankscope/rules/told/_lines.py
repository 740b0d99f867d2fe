"""Single lines: what is said of one rank, and what was read as an event."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.remembered import remembered
from ...analysis.sayings import sayings
from ...model.evidence.events import Event, left_out
from ...model.gap import Why
from ...model.process import UNKNOWN_HOST, Role


def said_by_ranks(case: Case) -> Iterator[tuple[int, str, str]]:
    """What is said of one rank alone: the rank, the words, and the line in which they stand."""
    for account in accounts(case):
        for line in account.said.splitlines():
            for subject, words in sayings(line) or ((account.who, line),):
                if len(subject.ranks) == 1:
                    yield next(iter(subject.ranks)), words, line


def events(case: Case, *names: str) -> list[Event]:
    """The events of some names, in order."""
    found = [one for name in dict.fromkeys(names) for one in _by_name(case).get(name, ())]
    return [event for _, event in (sorted(found, key=itemgetter(0)) if len(names) > 1 else found)]


def was_cut(case: Case, name: str) -> bool:
    """Whether there were more events of a name than are kept."""
    return any(gap.why is Why.SKIPPED and gap.detail.endswith(left_out(name)) for gap in case.snapshot.gaps)


@remembered
def _by_name(case: Case) -> dict[str, list[tuple[int, Event]]]:
    """All events by their names, each with its place: of thousands of ranks each asks for those of all."""
    found: dict[str, list[tuple[int, Event]]] = {}
    for at, event in enumerate(case.events):
        found.setdefault(event.event, []).append((at, event))
    return found


def rank_of(case: Case, event: Event) -> int | None:
    """The rank that an event is about: its line says so, or a stack of the same process was saved as that rank's."""
    if event.rank is not None or event.pid is None:
        return event.rank
    member = case.by_pid.get((event.host or UNKNOWN_HOST, event.pid))
    return member.rank if member is not None and member.role is Role.RANK else None
