"""Who took which branch: a rank's last words are what one branch prints, and its peers stand in a call of the other one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.looked_twice import moved
from ...analysis.main_thread import main_thread
from ...analysis.pasted_code import Section, sections
from ...model.evidence.events import Event
from ...model.patterns import regex
from ...model.ranks import RankSet


@dataclass(frozen=True)
class Parted:
    """Ranks that took the branch without the call in which all others stand, and what shows it."""

    ranks: RankSet
    head: str
    call: str
    said: str


def parted(case: Case) -> Parted | None:
    """The first condition of which ranks' last words and their peers' stacks show both sides."""
    inside = {} if moved(case) is not None else _functions(case)
    last = _last_words(case) if len(inside) > 1 else {}
    found = (_apart(section, inside, last) for section in _sections(case)) if last else ()
    return next((one for one in found if one is not None), None)


def _sections(case: Case) -> Iterator[Section]:
    for account in accounts(case):
        found = sections(account.code)
        # Of a condition on the rank one side often works for the others, which wait for it rightly.
        yield from (section for section in found if section.who == "some")


def _apart(section: Section, inside: dict[int, frozenset[str]], last: dict[int, Event]) -> Parted | None:
    for taken, other in ((section.body, section.otherwise), (section.otherwise, section.body)):
        messages = [found["text"].strip() for line in other for found in _PRINTS.finditer(line)]
        calls, of_others = _calls(taken), _calls(other)
        said = {rank for rank, event in last.items() if rank in inside and any(one in event.text for one in messages)}
        there = {rank for rank, names in inside.items() if names & calls}
        at_work = any(inside[rank] & of_others for rank in said)  # it is still in its branch, and may come
        if said and there and not at_work and not said & there and said | there == set(inside):
            names = frozenset.intersection(*(inside[rank] for rank in there)) & calls
            if names:
                return Parted(RankSet(said), section.head, min(names), last[min(said)].text.strip())
    return None


def _calls(lines: Sequence[str]) -> set[str]:
    return {name for line in lines for name in _CALLED.findall(line)}


# What a branch prints, as far as it is the same each time.
_PRINTS = regex(
    r"\b(?:\w{0,40}log\w{0,40}\.(?:debug|info|warn|warning|error|critical|exception|log)|print\w{0,20}|warnings\.warn)\("
    r"[rbfuRBFU]{0,2}[\"'](?P<text>[^\"'{%\n]{8,200})"
)
_CALLED = regex(r"(?<!def )\b(?:[A-Za-z_]\w{0,80}\.){0,8}([A-Za-z_]\w{0,80})\(")


def _functions(case: Case) -> dict[int, frozenset[str]]:
    """The functions in which the main thread of each rank stands."""
    found: dict[int, frozenset[str]] = {}
    for account in accounts(case):
        main = main_thread(account) if len(account.ranks) == 1 else None
        if main is not None:
            found[next(iter(account.ranks))] = frozenset(frame.function.rsplit(".", 1)[-1] for frame in main.stack)
    return found


def _last_words(case: Case) -> dict[int, Event]:
    """The last line of each rank that bears its rank, in logs."""
    seen = {event.file for account in accounts(case) if account.seen for event in account.events}
    return {event.rank: event for event in _lines(case.events) if event.file not in seen and event.rank is not None}


def _lines(events: Sequence[Event]) -> Iterator[Event]:
    return (event for event in events if event.event == "text.line")
