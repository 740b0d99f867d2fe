"""A program asks again and again, or waits, for what its children should bring, and they are dead.

## What it means
The program polls: a counter in shared memory, a file, a flag. The process that should set it was killed or crashed, nobody has
collected it, and no other child is left that could do its part. Nothing tells the one that polls. The same holds for one that
reads an event descriptor (`eventfd`), which only a child to whom it was handed at the fork could signal.

## How it is recognised
The process wakes now and then at one place of the job's code and gets no further between two looks, or is blocked in the read
of an event that no thread of its own can be about to signal. Its children are all dead, and at least one of them was ended by
a signal; it is still a zombie. An exit status other than 0 counts where the process polls a queue or pipe of multiprocessing
that nobody else can fill, or has the child's number at hand (`os.kill(pid, 0)` finds a zombie as well); any status, where it
reads a thousand times a second and more from a pipe that nobody else has open, and gets nothing. How long this has lasted the
kernel does not know, unless others wait for the program as well: a lone program is looked at until look after look has found
it at the same place, with the same values, for longer than `--stuck-after`.

## What to do
Find why the child died (`dmesg -T | grep -iE 'killed process|segfault'`, its own log). In the loop that polls, look whether the
child lives (`Process.is_alive()`, `Popen.poll()`).

## How to prevent it
A time limit on every loop that polls; `multiprocessing.connection.wait` on the child's `sentinel` beside the data.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...analysis.dead_children import awaited, polled_for
from ...analysis.own_age import own_s
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from .. import make_rule
from .._death import ended
from .._say import at, old_roots, ranks_of, stands, waited_for, who


def check(case: Case) -> Iterator[Finding]:
    old = {root.ref: root for root, _ in old_roots(case)} if case.snapshot.live else {}
    for standing in case.standings.values() if case.snapshot.live else ():
        family = case.by_host[standing.member.ref.host]
        waits = awaited(standing, family)
        killed = waits or polled_for(standing, family)
        if not killed or (waits and not case.stuck(own_s(standing))):
            continue
        root = next((old[ref] for ref in (standing.member.ref, *(child.ref for child in killed)) if ref in old), None)
        sure = bool(waits) or (root is not None and case.stuck(root.age_s))
        does = "waits for an event" if waits else "asks again and again"
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE,
            certainty=Certainty.LIKELY if sure else Certainty.POSSIBLE,
            title=f"{who(standing.member.process)} {does} in {at(standing.user_frame)}, and its child pid "
                  f"{killed[0].ref.pid} is dead",
            ranks=ranks_of(standing), processes=(standing.member.process, *(child.process for child in killed)),
            because=(*(Reason(f"pid {child.ref.pid} {ended(child)}", "kernel", child.ref) for child in killed[:4]),
                     stands(standing), *(waited_for(root) if root is not None else ())),
            against=() if sure or root is not None else ("how long it has asked in vain nothing tells",),
            next=(Step("dmesg -T | grep -iE 'killed process|segfault' | tail", standing.member.ref),
                  "rankscope diagnose --sweeps 3 --interval 10"),
        )  # fmt: skip


RULE = make_rule(__name__, __doc__, "child-dead", 24, check)
