"""Which thread of a subject does its work, by the stacks that were seen."""

from __future__ import annotations

import re

from .accounts import Account, Seen
from .frame_tables import STRENGTH
from .frames import wait_of


def main_thread(account: Account) -> Seen | None:
    """The thread that does the work: the main one, else the one that says most, else the first; its last moment."""
    if not account.seen:
        return None
    latest = max(seen.moment for seen in account.seen)
    now = [seen for seen in account.seen if seen.moment == latest] or list(account.seen)
    return _below(_working(account, now), now)


def _working(account: Account, now: list[Seen]) -> Seen:
    named = [seen for seen in now if seen.thread.name and re.search("main", seen.thread.name, re.I)]
    if named:  # a thread of which a dump was taken with native frames and another without: the one that says more
        same = [seen for seen in named if named[0].thread.tid in (None, seen.thread.tid) or seen.thread.tid is None]
        return max(same, key=lambda seen: STRENGTH.get(wait_of(seen.stack).kind, 0))
    for seen in now:
        if account.refs and seen.thread.tid == account.refs[0].pid:
            return seen
    return now[0]


def _below(main: Seen, now: list[Seen]) -> Seen:
    """The native view of a thread of which both were written down, where that says more."""
    for seen in now:
        same = seen.native and not main.native and (seen.thread.tid, seen.thread.name) == _identity(main)
        if same and STRENGTH.get(wait_of(seen.stack).kind, 0) > STRENGTH.get(wait_of(main.stack).kind, 0):
            return seen
    return main


def _identity(seen: Seen) -> tuple[int | None, str | None]:
    return seen.thread.tid, seen.thread.name
