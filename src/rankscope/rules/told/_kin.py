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
        return wait_of(self.main.stack).kind is WaitKind.EXIT or self.main.stack[0].function not in _BEGINS


@dataclass(frozen=True)
class Kin:
    """Children that one parent did not collect; the parent, and its living children, as far as all of them stand."""

    dead: tuple[Event, ...]
    parent: Stands | None
    living: tuple[Stands, ...]

    @property
    def of_ranks(self) -> bool:
        """Whether the children are ranks: their parent is none, and one of them stands where only ranks do."""
        parent = self.parent is not None and bool(self.parent.account.ranks)
        return not parent and any(one.account.ranks or wait_of(one.main.stack).kind in _OF_RANKS for one in self.living)


def uncollected(case: Case) -> Iterator[Kin]:
    """Families in which somebody has ended and nobody was seen to run; of saved evidence only, the live one knows more."""
    rows = [] if case.snapshot.live else [row for row in events(case, "proc.row") if "ppid" in row.fields]
    if not any(map(ended, rows)):
        return
    stacks = dict(_stacks(case))
    families: dict[tuple[str | None, object], list[Event]] = {}
    for row in rows:
        families.setdefault((row.host, row.fields["ppid"]), []).append(row)
    for (_, ppid), children in families.items():
        dead = tuple(filter(ended, children))
        seen = [stacks[row.pid] for row in children if row.pid in stacks]
        if not dead or any(one.main.thread.active for one in seen):
            continue
        parent = stacks.get(ppid)
        if parent is None or not parent.main.thread.active:
            yield Kin(dead, parent, tuple(seen))


def ended(row: Event) -> bool:
    """Whether a row is that of a zombie."""
    return str(row.fields.get("state")).startswith("Z")


def _stacks(case: Case) -> Iterator[tuple[object, Stands]]:
    for account in accounts(case):
        main = main_thread(account)
        if main is not None and len(account.refs) == 1:
            yield account.refs[0].pid, Stands(account, main)
