"""Single lines: what is said of one rank, and what was read as an event."""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.sayings import sayings
from ...model.evidence.events import Event
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
    return [event for event in case.events if event.event in names]


def rank_of(case: Case, event: Event) -> int | None:
    """The rank that an event is about: its line says so, or a stack of the same process was saved as that rank's."""
    if event.rank is not None or event.pid is None:
        return event.rank
    member = case.by_pid.get((event.host or UNKNOWN_HOST, event.pid))
    return member.rank if member is not None and member.role is Role.RANK else None
