"""Ranks that come late and do come: they count on, or are missed again and again, or move, while the others wait for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import Account, accounts
from ...analysis.case import Case
from ...analysis.day_times import CLOCK, DAY_S, of_day
from ...analysis.doings import doings, in_kind
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import wait_of
from ...analysis.looked_twice import mover, of_the_worker, stands_elsewhere
from ...model.evidence.events import Event
from ...model.labels import STEP, who
from ...model.patterns import regex
from ._lines import events


def come_late(case: Case) -> Iterator[tuple[Account, str]]:
    """Ranks that a report says are missing, in the account that goes on with steps behind it."""
    for account in accounts(case):
        if (late := _stalls_pass(account)) is not None:
            yield replace(account, who=replace(account.who, ranks=account.ranks | who(late).ranks)), late


def count_on(case: Case) -> Iterator[tuple[Account, str]]:
    """Ranks whose percentages grow while the limit of the others expires."""
    for account in accounts(case):
        own = _percent_grows(case, account)
        if own is not None:
            yield account, own
    for account in accounts(case):
        if (own := _counts_past(case, account) or _outlasts(case, account)) is not None:
            yield account, own


def move(case: Case) -> Iterator[tuple[Account, str]]:
    """A rank that stands elsewhere at each look, while others wait in one call; who came there or left it meanwhile does not."""
    moves = None if case.snapshot.live else mover(case)
    waiting = (doing.account for doing in in_kind(doings(case), WaitKind.COLLECTIVE.value))
    at = [account for account in waiting if account is not None and account.seen and not stands_elsewhere(account)]
    if moves is None or any(wait_of(seen.stack).kind in _AWAITS for seen in of_the_worker(moves)):
        return
    if any(_another(account, moves) for account in at):
        yield moves, moves.label


def _another(one: Account, other: Account) -> bool:
    """Whether two subjects are two processes of a job: two ranks, or, where nobody numbers them, two threads by their numbers."""
    if one.ranks or other.ranks:
        return one.ranks != other.ranks
    mine, its = ({seen.thread.tid for seen in account.seen} for account in (one, other))
    return None not in mine | its and mine.isdisjoint(its)


# Who waits for others, or for what comes, at one of the looks is not at work of its own.
_AWAITS = {WaitKind.COLLECTIVE, WaitKind.P2P, WaitKind.SOCKET, WaitKind.QUEUE, WaitKind.IDLE}


_PERCENT = regex(r"\b(\d{1,2})(?:\.\d+)? ?%")
_SOME_OTHERS = 2


def _percent_grows(case: Case, account: Account) -> str | None:
    """The last line of a rank that counts on, between or behind the time-outs of others, and reports none itself."""
    late = {event.rank for event in events(case, "torch.watchdog_timeout", "gloo.op_timeout")} - {None}
    first = {event.file: event.line for event in reversed(events(case, "torch.watchdog_timeout", "gloo.op_timeout"))}
    counts: dict[int, list[tuple[int, str]]] = {}
    for event in account.events:
        found = _PERCENT.search(event.text) if event.line > first.get(event.file, event.line) else None
        if event.rank is not None and event.rank not in late and found and event.event == "text.line":
            counts.setdefault(event.rank, []).append((int(found[1]), event.text))
    for told in counts.values() if len(late) >= _SOME_OTHERS and len(counts) == 1 else ():
        numbers = [number for number, _ in told]
        if len(numbers) > 1 and numbers == sorted(numbers) and numbers[0] < numbers[-1]:
            return told[-1][1]
    return None


_OF_ALL = regex(r"(?<![\d/.:-])(?P<done>\d{1,9}) ?(?:/|of) ?(?P<all>\d{2,9})\b(?![/\d])")
_BEFORE_S = 60  # a count that begins with the time-out may follow from it


def _counts_past(case: Case, account: Account) -> str | None:
    """The last line of one rank's own log that counts pieces of its work, from long before the time-out of others to after it."""
    gave_up = events(case, "torch.watchdog_timeout", "gloo.op_timeout")
    times = [at for event in gave_up if (at := _time_of(event)) is not None]
    late = {event.rank for event in gave_up}
    if len(account.ranks) != 1 or not times or late & set(account.ranks):
        return None
    counts: dict[tuple[str, int], list[tuple[int, int, str]]] = {}
    for event in account.events:
        found = None if STEP.search(event.text) else _OF_ALL.search(event.text)
        at = _time_of(event) if found else None
        if found and at is not None and event.event == "text.line":
            counts.setdefault((event.file, int(found["all"])), []).append((at, int(found["done"]), event.text.strip()))
    for told in counts.values():
        done = [number for _, number, _ in told]
        if done == sorted(set(done)) and told[0][0] + _BEFORE_S <= min(times) < told[-1][0]:
            return told[-1][2]
    return None


_TOOK = regex(
    r"\b(?:took|(?:finished|done|completed|saved|uploaded|written|loaded|built|ready|elapsed)(?: (?:in|after|time))?) ?[:=]? ?"
    r"(?P<s>\d{1,9}(?:\.\d{1,9})?) ?(?:s|sec|secs|seconds)\b",
    re.IGNORECASE,
)


def _outlasts(case: Case, account: Account) -> str | None:
    """The line of one rank's own log that tells of work of its own, done in a time longer than the limit of the others."""
    gave_up = events(case, "torch.watchdog_timeout", "gloo.op_timeout")
    limits = [limit for event in gave_up if isinstance(limit := event.fields.get("timeout_ms"), int) and limit > 0]
    if len(account.ranks) != 1 or not limits or {event.rank for event in gave_up} & set(account.ranks):
        return None
    told = (
        (found, event) for event in account.events if event.event == "text.line" for found in _TOOK.finditer(event.text)
    )
    return next((event.text.strip() for found, event in told if float(found["s"]) * 1000 >= min(limits)), None)


def _time_of(event: Event) -> int | None:
    """The time of day of a line, in seconds: as ranks of one job print it, in whatever form."""
    if found := CLOCK.search(event.text):
        return of_day(found)
    return int(event.at_s) % DAY_S if event.at_s is not None else None


_LACKING = regex(
    r"(?:Missing ranks|Stalled ranks):?\s*\n?(?P<ranks>(?:\d+[ ,:]+)+)|\[missing ranks: (?P<them>[\d, ]+)\]"
)


def _stalls_pass(account: Account) -> str | None:
    """A report of Horovod's about ranks that come late, made anew after steps: they came in the end."""
    last: dict[str, int] = {}
    text, steps = "\n".join(said.text for said in account.events), 0
    late = [(found.start(), "late", found["ranks"] or found["them"]) for found in _LACKING.finditer(text)]
    if not late:
        return None
    marks = sorted([(found.start(), "step", found.group()) for found in STEP.finditer(text)] + late)
    for _, kind, what in marks:
        if kind == "step":
            steps += 1
        elif last.get(what, steps) < steps:
            return f"ranks {what.strip(' :,')} were missing, and again after more steps"
        else:
            last.setdefault(what, steps)
    return None
