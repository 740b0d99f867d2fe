"""A process has as many files open as it may, and gets no further.

## What it means
Every open, accept, pipe or received tensor needs a descriptor; the limit of the process is reached, so that each try fails with
`EMFILE`. Code that catches the error and tries again, and servers that accept, then turn in a circle for ever.

## How it is recognised
The process has as many descriptors as its soft limit allows (`/proc/PID/limits`), and others wait for it, or somebody pointed
at it while it pauses and tries again; its loops do not advance.

## What to do
`ls -l /proc/PID/fd` shows what is open: many of one kind are a leak. `prlimit --pid PID --nofile=65536` lifts the limit of a
process that runs (up to its hard limit), and it goes on.

## How to prevent it
`ulimit -n` in the job's script; `torch.multiprocessing.set_sharing_strategy("file_system")`; files closed by `with`.
The limit: https://man7.org/linux/man-pages/man2/getrlimit.2.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.case import Case, Root
from ..analysis.frame_tables import Kind as Wait
from ..analysis.progress import advances
from ..analysis.standing import Standing
from ..model.diagnosis import Certainty, Finding, Kind, Reason
from ..model.evidence.files import OpenFiles
from . import Rule
from ._say import old_roots, pointed_at, ranks_of, stands, waited_for, who


def check(case: Case) -> Iterator[Finding]:
    for root, standing in _suspects(case):
        files = standing.member.latest(OpenFiles)
        if files is None or not 0 < files.limit <= len(files.files) or advances(standing):
            continue
        process = standing.member.process
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
            title=f"{who(process)} has as many files open as it may: {files.limit}",
            ranks=ranks_of(standing), processes=(process,),
            because=(Reason(f"{len(files.files)} descriptors are open, the limit is {files.limit}", "kernel", process.ref),
                     stands(standing), *waited_for(root)),
            next=(f"ls -l /proc/{process.ref.pid}/fd", f"prlimit --pid {process.ref.pid} --nofile=65536"),
        )  # fmt: skip


def _suspects(case: Case) -> Iterator[tuple[Root, Standing]]:
    """Those that others wait for; and the one program that somebody pointed at, where it pauses and tries again."""
    yield from ((root, standing) for root, standing in old_roots(case) if root.waiters)
    for standing in case.standings.values():
        if pointed_at(case, standing) and standing.ran and standing.kind is Wait.SLEEP:
            yield Root(standing.member.ref), standing


RULE = Rule(id="descriptors-used-up", cls="resource-limit", check=check, page=__doc__ or "", order=11)
