"""Families in a process table: who has ended and was not collected by its parent, and who else is a child of that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...analysis.accounts import Account, Seen, accounts
from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import wait_of
from ...analysis.main_thread import main_thread
from ...model.evidence.events import Event
from ...model.patterns import regex
from ._lines import events

# Where only a rank stands.
_OF_RANKS = {WaitKind.COLLECTIVE, WaitKind.P2P, WaitKind.STORE, WaitKind.RENDEZVOUS, WaitKind.BACKWARD}
# The first frame of a main thread, while the program runs.
_BEGINS = {"<module>", "_run_module_as_main", "_start"}


@dataclass(frozen=True)
class Stands:
    """A process of which both a row and a stack were seen, and which does not run."""

    account: Account
    main: Seen

    @property
    def name(self) -> str:
        """As findings call it."""
        return self.account.refs[0].spoken if len(self.account.refs) == 1 else self.account.label

    @property
    def leaves(self) -> bool:
        """Whether its program is over: what runs at exit does not stand on the program's own first frame."""
        return self.ends or self.main.stack[0].function not in _BEGINS

    @property
    def ends(self) -> bool:
        """Whether it stands in what Python does at the end; more is not told by a stack whose first frames were left out."""
        return wait_of(self.main.stack).kind is WaitKind.EXIT


@dataclass(frozen=True)
class Kin:
    """Children that one parent did not collect; the parent, and its living children, as far as all of them stand."""

    dead: tuple[Event, ...]
    parent: Stands | None
    living: tuple[Stands, ...]
    crashed: bool = False  # the kernel tells so of all that have ended
    unseen: int = 0  # other children, of which there is no stack

    @property
    def of_ranks(self) -> bool:
        """Whether the children are ranks: their parent is none, and one of them stands where only ranks do."""
        parent = self.parent is not None and bool(self.parent.account.ranks)
        return not parent and any(one.account.ranks or wait_of(one.main.stack).kind in _OF_RANKS for one in self.living)


def uncollected(case: Case) -> Iterator[Kin]:
    """Families in which somebody has ended and nobody was seen to run; of saved evidence only, the live one knows more.

    Where the kernel tells of the crash of the one that ended, the others may seem to run: who polls for what it owes does.
    """
    rows = [] if case.snapshot.live else events(case, "proc.row")
    if not any(map(ended, rows)):
        return
    stacks, asked = dict(_stacks(case)), _asked_for(case)
    crashed = {event.pid for event in events(case, "kernel.segfault")}
    families: dict[tuple[str | None, object], list[Event]] = {}
    for row in rows:
        ppid: object = row.fields.get("ppid", asked.get(row.file))
        if ppid is not None:
            families.setdefault((row.host, ppid), []).append(row)
    for (_, above), children in families.items():
        dead = tuple(filter(ended, children))
        seen = [stacks[row.pid] for row in children if row.pid in stacks]
        told = all(row.pid in crashed for row in dead)
        if not dead or (not told and any(one.main.thread.active for one in seen)):
            continue
        parent = stacks.get(above)
        if parent is None or told or not parent.main.thread.active:
            unseen = sum(
                not (ended(row) or row.pid in stacks or _TRACKER in str(row.fields["command"])) for row in children
            )
            yield Kin(dead, parent, tuple(seen), told, unseen)


_TRACKER = "_tracker import main"  # of multiprocessing, for what its processes share

# A table of the children of one process names it in the command alone: ``ps --ppid 812``.
_CHILDREN_OF = regex(r"\bps\b[^\n|;]{0,80}? --ppid[ =]{1,2}(\d{1,9})(?![,\d])")


def _asked_for(case: Case) -> dict[str, int]:
    """By file, the process whose children are listed in it."""
    told: dict[str, set[int]] = {}
    for account in accounts(case):
        of_label = _CHILDREN_OF.search(account.label)
        for event in account.events:
            if found := of_label or (_CHILDREN_OF.search(event.text) if "--ppid" in event.text else None):
                told.setdefault(event.file, set()).add(int(found[1]))
    return {file: min(parents) for file, parents in told.items() if len(parents) == 1}


def ended(row: Event) -> bool:
    """Whether a row is that of a zombie."""
    return str(row.fields.get("state")).startswith("Z")


def _stacks(case: Case) -> Iterator[tuple[object, Stands]]:
    for account in accounts(case):
        main = main_thread(account)
        if main is not None and len(account.refs) == 1:
            yield account.refs[0].pid, Stands(account, main)
