"""Does a process get on? What the deciding thread does between the looks, and those that it waits for."""

from __future__ import annotations

import statistics

from ..model.evidence.threads import KernelThread, Threads
from .frame_tables import WaitKind
from .handled import FULL, handled
from .load import (
    FRESH_WORK_BELOW,
    MUCH_BYTES,
    STIRS,
    WANTS,
    WORKS_BELOW,
    transferred,
    used_below,
    watched_s,
    works_unseen,
)
from .native_work import computes_natively
from .origin import module_path
from .pools import renews_workers
from .receiving import receives
from .remembered import remembered
from .standing import Standing
from .starved import starved
from .turned import counts, turned
from .turns import takes_turns


def works(standing: Standing) -> bool:
    """Whether a process that is waited for is at work: it advances, or it runs now and then in a compiler or checkpoint."""
    patient = standing.kind in (WaitKind.COMPILE, WaitKind.CHECKPOINT) and standing.state != "D" and bool(standing.ran)
    return patient or advances(standing)


@remembered
def advances(standing: Standing) -> bool:
    """Whether the work of the deciding thread moved on between the first and the last look.

    Another function than before, or a changed local in a frame *outside* the innermost one, is progress: a loop above
    it has turned. Another line or a changed local of the innermost frame alone is not, since a loop that polls does that
    too; but a whole number that changes there while the CPU is busy is a loop that works through its items, and so is one
    that grows between sleeps, unless it is called like a count of attempts. A program without Python works when it wants
    the CPU: one that wants it and hardly gets it has been kept waiting, and has not stood still.
    """
    looks = standing.looks
    if standing.state in ("T", "t", "Z") or (standing.kind is WaitKind.SLEEP and handled(standing) in FULL):
        return False  # what it writes again and again finds no room
    if standing.state == "D":  # also who reads or writes much is mostly met there
        return bool(standing.ran) and (transferred(standing.member) >= MUCH_BYTES or turned(looks))
    if standing.thread is None and (standing.busy > STIRS or wants_cpu(standing) or works_unseen(standing.member)):
        return True
    if len(looks) < 2:
        return False
    first, last = looks[0], looks[-1]
    if transferred(standing.member) >= MUCH_BYTES or _works_below(standing) or _loop_turns(standing):
        return True
    if standing.helped and standing.kind in {*AWAIT_WORK, WaitKind.LOCK}:
        return True
    if computes_natively(standing) or takes_turns(standing) or _fills_memory(standing) or receives(standing):
        return True
    if counts(first, last, computing=wants_cpu(standing)) or starved(standing):
        return True
    return turned(looks)


# Waits in which the work is done by other threads or by processes below.
AWAIT_WORK = {
    WaitKind.COMPILE,
    WaitKind.CHILD,
    WaitKind.CONDITION,
    WaitKind.PIPE,
    WaitKind.CHECKPOINT,
    WaitKind.QUEUE,
    WaitKind.SLEEP,
    WaitKind.IDLE,
    WaitKind.SOCKET,
    WaitKind.IMPORT_LOCK,
}


def _loop_turns(standing: Standing) -> bool:
    """Whether it is an event loop that wakes: what its tasks do is not on its stack."""
    loop = any(module_path(frame.file).startswith(("asyncio/", "uvloop/")) for frame in standing.own_stack)
    return standing.kind is WaitKind.IDLE and bool(standing.ran) and loop


def _works_below(standing: Standing) -> bool:
    """Whether the processes it started used the CPU between the looks: a build, a compiler, a command at work."""
    least = FRESH_WORK_BELOW if renews_workers(standing.member) else WORKS_BELOW
    return standing.kind in AWAIT_WORK and used_below(standing.member) > least


def spins_s(standing: Standing) -> float | None:
    """For how long a thread was seen at one instruction, with the same values, wanting the CPU and holding the GIL.

    None where it was not: one that computes lets others have the GIL, calls something, or changes a number. On a busy
    machine it may get little of the CPU, so what counts is that it never went to sleep by itself.
    """
    looks = standing.looks
    tasks = [_task_of(standing, one) for one in standing.member.over_time(Threads)]
    slept = len({task.voluntary for task in tasks if task is not None}) != 1
    if len(looks) < 2 or standing.moved or slept or not wants_cpu(standing) or not all(one.holds_gil for one in looks):
        return None
    if _fills_memory(standing):
        return None
    return watched_s(standing.member)


# Between two looks; an interpreter that does nothing new asks for less.
_MUCH_MEMORY = 128 << 10


def _fills_memory(standing: Standing) -> bool:
    """Whether a thread that keeps the GIL in one instruction takes and gives back memory: a sort, a large number, a parser at
    work. Nobody else of its process can do so meanwhile, and what goes round in circles needs no more than it has."""
    sizes = [one.rss_bytes for one in standing.member.over_time(Threads)]
    looks = standing.looks
    if len(looks) < 2 or standing.moved or None in sizes or not all(one.holds_gil for one in looks):
        return False
    known = [size for size in sizes if size is not None]
    return wants_cpu(standing) and statistics.median(abs(b - a) for a, b in zip(known, known[1:])) >= _MUCH_MEMORY


# One that goes to sleep by itself is interrupted by chance only, and not as often as this between two looks.
_SWITCHES = 5


def wants_cpu(standing: Standing) -> bool:
    """Whether the thread wants the CPU: it has it, waits for it, or was made to give it up between the looks."""
    if standing.busy > WANTS or standing.state == "R":
        return True
    before, now = (_task_of(standing, one) for one in (standing.member.first(Threads), standing.member.latest(Threads)))
    return before is not None and now is not None and now.involuntary > before.involuntary + _SWITCHES


def _task_of(standing: Standing, threads: Threads | None) -> KernelThread | None:
    """The deciding thread at one moment."""
    tid = standing.kernel.tid if standing.kernel else 0
    return next((task for task in threads.threads if task.tid == tid), None) if threads else None
