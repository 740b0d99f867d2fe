"""A process has as many files open as it may, and gets no further.

## What it means
Every open, accept, pipe or received tensor needs a descriptor; the limit of the process is reached, so that each try fails with
`EMFILE`. Code that catches the error and tries again, and servers that accept, then turn in a circle for ever.

## How it is recognised
The process has as many descriptors as its soft limit allows (`/proc/PID/limits`), and others wait for it, or somebody pointed
at it while it pauses and tries again; its loops do not advance. Or it is a server whose callers wait to be accepted. Where
the log of the job says "Too many open files", one that has all but a few counts as well: an operation that fails gives back
those it has opened.

## What to do
`ls -l /proc/PID/fd` shows what is open: many of one kind are a leak. `prlimit --pid PID --nofile=65536` lifts the limit of a
process that runs (up to its hard limit), and it goes on.

## How to prevent it
`ulimit -n` in the job's script; `torch.multiprocessing.set_sharing_strategy("file_system")`; files closed by `with`.
The limit: https://man7.org/linux/man-pages/man2/getrlimit.2.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case, Root
from ...analysis.frame_tables import WaitKind
from ...analysis.progress import advances
from ...analysis.standing import Standing
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.files import OpenFiles
from ...model.evidence.sockets import Sockets
from ...model.patterns import regex
from .. import make_rule
from .._say import old_roots, pointed_at, ranks_of, stands, waited_for, who

_REFUSED = regex(r"Too many open files|\[Errno 24\]|received 0 items of ancdata")
_FEW = 4  # a descriptor that is handed over costs three for a moment (multiprocessing/reduction.py, resource_sharer.py)


def check(case: Case) -> Iterator[Finding]:
    for root, standing in _suspects(case):
        files = standing.member.latest(OpenFiles)
        if files is None or not 0 < files.limit <= len(files.files) + _few(case, files):
            continue
        if advances(standing) and not _called(standing):
            continue
        process = standing.member.process
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
            title=f"{who(process)} has {_how_many(files)} files open as it may: {files.limit}",
            ranks=ranks_of(standing), processes=(process,),
            because=(Reason(f"{len(files.files)} descriptors are open, the limit is {files.limit}", "kernel", process.ref),
                     stands(standing), *waited_for(root)),
            next=(Step(f"ls -l /proc/{process.ref.pid}/fd", process.ref),
                  Step(f"prlimit --pid {process.ref.pid} --nofile=65536", process.ref)),
        )  # fmt: skip


def _few(case: Case, files: OpenFiles) -> int:
    """How many descriptors may be free at the limit: some, where an error was told and was let pass."""
    told = any(_REFUSED.search(event.text) for event in case.events)
    return min(_FEW, files.limit // 10) if told else 0


def _how_many(files: OpenFiles) -> str:
    return "as many" if len(files.files) >= files.limit else "nearly as many"


def _called(standing: Standing) -> bool:
    """Whether it is an event loop that has a caller whom it does not accept: it tries again every second (asyncio)."""
    sockets = standing.member.latest(Sockets)
    queued = any(one.state == "listen" and one.receive_queue for one in (sockets.sockets if sockets else ()))
    return queued and standing.kind in (WaitKind.IDLE, WaitKind.SOCKET)


def _suspects(case: Case) -> Iterator[tuple[Root, Standing]]:
    """Those that others wait for; servers that have callers whom they do not accept; and the one program that somebody pointed
    at, where it pauses and tries again."""
    yield from ((root, standing) for root, standing in old_roots(case) if root.waiters)
    for standing in case.standings.values():
        tries = standing.kind is WaitKind.SLEEP and bool(standing.ran)
        if not standing.member.gone and (_called(standing) or (tries and pointed_at(case, standing))):
            yield Root(standing.member.ref), standing


RULE = make_rule(__name__, __doc__, "resource-limit", 11, check)
