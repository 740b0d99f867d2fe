"""Whether the ranks that were seen stand in one place, in as many as a loop that goes on shows, or some at the end."""

from __future__ import annotations

from collections.abc import Iterable

from ...analysis.case import Case
from ...analysis.doings import Doing, doings, in_kind, of_ranks, size, way
from ...analysis.frame_tables import WaitKind
from ...model.labels import of_each
from ._lines import events


def standing_together(case: Case) -> list[Doing]:
    """What all ranks that were seen do, where all of them wait in one call to which all came by one way; else nothing."""
    found = [doing for doing in doings(case) if of_ranks(doing) and doing.kind not in ("unknown", WaitKind.IDLE.value)]
    everybody = [doing for doing in found if of_all(doing)]
    if everybody and len(told_calls(case)) < 2:  # what else is said of calls is said of the same ranks
        found = [doing for doing in found if doing in everybody or doing.ranks or doing.kind not in _CALLS]
    waiting = in_kind(found, *_CALLS)
    many = sum(map(size, waiting))
    alike = len({doing.site for doing in waiting}) == len({way(doing) for doing in waiting}) == 1
    return waiting if alike and many > 1 and len(waiting) == len(found) and _shown(waiting) else []


_CALLS = (WaitKind.COLLECTIVE.value, WaitKind.DEVICE.value)


def of_all(doing: Doing) -> bool:
    """Whether a stack is said to be that of all ranks."""
    account = doing.account
    if account is None or not account.seen or account.who.count is None:
        return False
    return of_each(account.label)


def told_calls(case: Case) -> set[tuple[object, object]]:
    """The calls in which ranks gave up, by number and operation."""
    return {(one.fields.get("seq"), one.fields.get("op")) for one in events(case, "torch.watchdog_timeout")}


def _shown(waiting: list[Doing]) -> bool:
    """Whether it rests on stacks, or on more than one sentence."""
    if len(waiting) > 1:
        return True
    return any(doing.account and (doing.account.seen or of_each(doing.account.label)) for doing in waiting)


def left_early(case: Case) -> tuple[Doing, Doing] | None:
    """Ranks that were seen at the end of their program, and others that were seen in a collective: it never comes for these."""
    seen = [doing for doing in doings(case) if of_ranks(doing) and doing.account is not None and doing.account.seen]
    ending, waiting = (
        in_kind(seen, WaitKind.EXIT.value),
        in_kind(seen, WaitKind.COLLECTIVE.value, WaitKind.BACKWARD.value),
    )
    return (ending[0], waiting[0]) if ending and waiting else None


def scattered(found: Iterable[Doing], waiting: list[Doing]) -> bool:
    """Whether a backward pass may be at work as well as the others, which are in several places and more: one look at a
    loop that goes on is like that."""
    elsewhere = [
        doing for doing in found if of_ranks(doing) and doing not in waiting and doing.account and doing.account.seen
    ]
    passes = all(doing.kind == WaitKind.BACKWARD.value for doing in waiting)
    return passes and len({doing.site for doing in elsewhere}) > 1 and len(elsewhere) > len(waiting)
