"""A child process has ended, nobody has collected it, and its parent waits.

## What it means
A pool worker, helper or simulator is dead, and its parent does not know: it reads from a queue to which nobody writes any more,
asks for a lock that the dead one held, or waits for another child, which waits for the dead one.

## How it is recognised
A process table with parents (`ps -ef`, `ps axf -o pid,ppid,stat,args`) shows the child in state Z, and the stacks of its parent
and of the parent's other children show all of them at rest. Where the parent stands in code of its own, that is only possible:
many programs collect their children late. Of several ranks below one launcher, see *rank-not-collected*.

## What to do
Find why it died: `dmesg -T | grep -i -e segfault -e oom`, its own log. The exit code is the last word of `/proc/PID/stat` of the
child, times 256; below 256 it is the signal that killed it (proc(5); root).

## How to prevent it
`ProcessPoolExecutor` says that a worker is gone, `multiprocessing.Pool` does not; wait for `process.sentinel` beside the queue
(`multiprocessing.connection.wait`); time-outs on `get`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import wait_of
from ...model.diagnosis import Certainty, Finding
from .. import make_rule
from ._findings import members, simple
from ._kin import Kin, Stands, uncollected
from ._signs import LIKELY, POSSIBLE

# What a child brings, takes or holds.
_NEEDS = {WaitKind.PIPE, WaitKind.QUEUE, WaitKind.LOCK, WaitKind.CONDITION}
# Who waits for its children may wait for ranks, who are no helpers; who stands elsewhere may collect them later.
_MAY_NEED = {WaitKind.USER, WaitKind.SLEEP, WaitKind.SOCKET, WaitKind.LIBRARY}
_STEPS = ("dmesg -T | grep -i -e segfault -e oom | tail", "ps axf -o pid,ppid,stat,etime,args")


def check(case: Case) -> Iterator[Finding]:
    for kin in uncollected(case):
        if kin.parent is None or kin.of_ranks:
            continue
        kind = wait_of(kin.parent.main.stack).kind
        if kind in _NEEDS:
            yield _finding(case, kin, kin.parent, LIKELY)
        elif (kind is WaitKind.CHILD and kin.living) or kind in _MAY_NEED:
            yield _finding(case, kin, kin.parent, POSSIBLE, shown=kind is WaitKind.CHILD)


def _finding(case: Case, kin: Kin, parent: Stands, certainty: Certainty, shown: bool = True) -> Finding:
    leaf = parent.main.stack[-1]
    pids = ", ".join(str(one.pid) for one in kin.dead[:4])
    title = f"{parent.name} waits, and its child pid {pids} has ended and was not collected"
    because = (kin.dead[0].text.strip(), f"{parent.name} stands in {leaf.function} ({leaf.file}:{leaf.line})")
    processes = members(case, parent.account)
    found = simple(RULE, title, certainty, because, _STEPS, parent.account.ranks, processes=processes)
    return replace(found, compared=shown)


RULE = make_rule(__name__, __doc__, "child-dead", 37, check)
