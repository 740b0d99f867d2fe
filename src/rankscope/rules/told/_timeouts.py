"""Time-outs of torch's watchdogs, each with the group in which its rank waited.

The message of the time-out has no group before torch 2.3, and the rank that it has is the one in its group; the line on the
state of the group that follows (``ProcessGroupNCCL::watchdogHandler``) names both the group and the number of the call.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.remembered import remembered
from ...model.evidence.events import Event
from ...model.patterns import regex
from ._lines import events

_WORLD = ("default_pg", "", None)


@remembered
def timeouts(case: Case) -> list[Event]:
    """The time-outs; where several groups are named, with their groups and, of groups that are not the world, world ranks."""
    said = events(case, "torch.watchdog_timeout")
    states = _states(case)
    if len({one.fields.get("pg") for one in states}) < 2:
        return said
    alone = _files_of_one(case)
    where = {(one.file, one.rank, one.fields.get("work")): one for one in reversed(states)}
    return [_told(one, where.get((one.file, one.rank, one.fields.get("seq"))), alone.get(one.file)) for one in said]


def unfinished(case: Case) -> list[Event]:
    """The states of groups in which a watchdog gave up, with world ranks; those that have done all they began are left out."""
    alone = _files_of_one(case)
    states = [one for one in _states(case) if one.fields.get("last_completed") != one.fields.get("last_enqueued")]
    return [_told(one, one, alone.get(one.file)) for one in states]


def _states(case: Case) -> list[Event]:
    return [one for one in events(case, "torch.watchdog_status") if one.fields.get("pg") is not None]


def _files_of_one(case: Case) -> dict[str, int]:
    """The rank of each file that is of one rank."""
    return {
        event.file: next(iter(account.ranks))
        for account in accounts(case)
        if len(account.ranks) == 1
        for event in account.events
    }


def _told(event: Event, state: Event | None, rank: int | None) -> Event:
    if state is None:
        return event
    group = {name: state.fields[name] for name in ("pg", "pg_desc") if name in state.fields}
    world = state.fields.get("pg_desc") in _WORLD
    return replace(event, rank=event.rank if world or rank is None else rank, fields={**event.fields, **group})


def day(event: Event) -> str:
    """The day of a line as torch's logger writes it, month and day without a separator (c10/util/Logging.cpp); "" of others.

    Reports of different days are of different runs, whose numbers are not compared.
    """
    found = _DAY.search(event.text[:80])
    return found[1] if found else ""


_DAY = regex(r"\[[IWE](\d{2,4}) \d\d:\d\d:\d\d\.")


def in_several_groups(case: Case) -> bool:
    """Whether several ranks gave up in the same calls, more than one each: those of several groups wait for each other."""
    said: dict[int, set[tuple[object, object]]] = {}
    for event in events(case, "torch.watchdog_timeout"):
        if event.rank is not None:
            said.setdefault(event.rank, set()).add((event.fields.get("seq"), event.fields.get("op")))
    calls = list(said.values())
    return len(calls) > 1 and len(calls[0]) > 1 and all(one == calls[0] for one in calls)
