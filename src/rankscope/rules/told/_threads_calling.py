"""Threads of one rank that are in collectives at the same time, and what says that each has a group of its own."""

from __future__ import annotations

import itertools
from collections.abc import Collection

from ...analysis.accounts import Account, Seen, accounts
from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import wait_of
from ...model.patterns import regex

# Each thread has a group of its own.
APART = r"\b(?:different|separate|own|two|several|distinct|another) (?:\w+ )?(?:comm(?:unicator)?s?|(?:process )?groups?|pgs?)\b"
# A call in pasted code, with all that is between its brackets on the same line.
_CALL = regex(r"\b(?P<op>[a-z]\w{2,40})\((?P<given>[^\n]{0,200})\)")
_PAIR = 2
_GROUP = regex(r"\b(?:group|process_group|pg) ?= ?(?P<name>[\w.]{1,60})")


def calls_at_once(account: Account) -> dict[str, Seen]:
    """The threads of a subject that are in collectives, if one tool shows several: each names threads in its own way."""
    by_tool: dict[str, dict[str, Seen]] = {}
    for seen in filter(_calls, account.seen):
        by_tool.setdefault(seen.engine, {})[_thread(seen)] = seen
    return next((calling for calling in by_tool.values() if len(calling) > 1), {})


def said_apart(case: Case) -> bool:
    """Whether somebody says that there are several groups."""
    return any(one.find(APART) for one in accounts(case))


def coded_apart(case: Case, ops: Collection[str]) -> bool:
    """Whether pasted code makes each of some calls, and no two of them in one group."""
    groups: dict[str, set[str]] = {op: set() for op in ops}
    for account in accounts(case):
        if account.seen or not any(op in account.said for op in ops):
            continue
        for found in _CALL.finditer(account.said):
            if found["op"] in groups:
                named = _GROUP.search(found["given"])
                groups[found["op"]].add(named["name"] if named else "")
    pairs = itertools.combinations(groups.values(), 2)
    return len(groups) > 1 and all(groups.values()) and all(one.isdisjoint(other) for one, other in pairs)


def crosswise(case: Case) -> list[str] | None:
    """Calls of two groups that ranks make in two threads: each lacks a rank that is in the other, and whose other thread waits.

    A rank that is in both shows that neither comes before the other; then who lacks one of them waits within itself.
    """
    ranks = [one for one in accounts(case) if len(one.ranks) == 1 and one.seen]
    ops = {one.label: {wait_of(seen.stack).op for seen in one.seen if _calls(seen)} for one in ranks}
    both = sorted(set().union(*ops.values()))
    if len(both) != _PAIR or not all(ops.values()) or not coded_apart(case, both):
        return None
    held = {next(iter(ops[one.label])) for one in ranks if len(ops[one.label]) == 1 and any(map(_waits, one.seen))}
    if len(held) < len(both) or not any(calls_at_once(one) for one in ranks):
        return None
    return [f"{one.label}: {' and '.join(sorted(ops[one.label]))}" for one in ranks[:4]]


def _thread(seen: Seen) -> str:
    return seen.thread.name or f"thread {seen.thread.tid}"


def _calls(seen: Seen) -> bool:
    """Whether a Python thread made a call that others must make too."""
    wait = wait_of(seen.stack)
    return wait.kind is WaitKind.COLLECTIVE and not seen.native and any(frame.file for frame in seen.stack)


def _waits(seen: Seen) -> bool:
    """Whether the program made a thread wait for another one."""
    wait = wait_of(seen.stack)
    return wait.kind in (WaitKind.CONDITION, WaitKind.LOCK) and wait.user >= 0
