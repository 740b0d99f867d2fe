"""case → whether processes were dumped whole, and whether that is all there is: public threads quote only what tells."""

from __future__ import annotations

from .accounts import accounts
from .case import Case
from .endings import wrong
from .remembered import remembered


def dumped(case: Case) -> bool:
    """Whether somebody dumped a process whole: py-spy writes the interpreter above all threads, pystack numbers them."""
    if case.snapshot.live:
        return False
    return any(member.process.python is not None for member in case.members) or any(
        seen.engine == _NUMBERS and seen.thread.tid is not None for one in accounts(case) for seen in one.seen
    )


_NUMBERS = "pystack"


@remembered
def one_look(case: Case) -> bool:
    """Whether all that is known is where whole processes stood at one moment: running jobs stand somewhere, too."""
    return dumped(case) and not any(
        one.again or any(map(wrong, (one.label, *one.said.splitlines()))) for one in accounts(case)
    )
