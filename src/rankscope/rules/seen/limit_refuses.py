"""A program tries again and again what a limit of its process or control group refuses.

## What it means
A file may not grow further (`RLIMIT_FSIZE`: `ulimit -f`, a site's prolog), the machine has no file left to open, or the group
of the job has as many processes and threads as it may (`pids.max`: a container's `--pids-limit`, `podPidsLimit`, `TasksMax`).
Code that catches the error and tries again never gets on, however much of the machine is free.

## How it is recognised
The interpreter tells which error a thread is handling: it pauses in the handler of `EFBIG` or `ENFILE`; or in that of a
process or thread that could not be made (`EAGAIN`, "can't start new thread") while its group has as many tasks as it may. Its
loops do not advance, and others wait for it, or somebody pointed at it.

## What to do
`prlimit --pid PID --fsize=unlimited` lifts the limit of one that runs (as root where its hard limit is lower); for tasks, raise
`pids.max` of the group that is named, or end processes that nobody needs in it (`ps -eLf`). The program goes on by itself.

## How to prevent it
`OMP_NUM_THREADS` and fewer workers per rank; limits of the container that fit the number of ranks; a number of tries that ends.
The limits: https://man7.org/linux/man-pages/man2/getrlimit.2.html, https://docs.kernel.org/admin-guide/cgroup-v2.html (PID)
"""

from __future__ import annotations

import errno
from collections.abc import Iterator

from ...analysis.case import Case, Root
from ...analysis.frame_tables import WaitKind
from ...analysis.handled import handled
from ...analysis.progress import advances
from ...analysis.standing import Standing
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.task_limit import TaskLimit
from .. import make_rule
from .._say import at, handling, old_roots, pointed_at, ranks_of, stands, waited_for, who

_PAUSES = (WaitKind.SLEEP, WaitKind.USER)
_LIFTS = {errno.EFBIG: "prlimit --pid PID --fsize=unlimited", errno.ENFILE: "sysctl fs.file-max fs.file-nr"}


def check(case: Case) -> Iterator[Finding]:
    for root, standing in _suspects(case):
        tasks = _no_task(standing)
        if (tasks is None and handled(standing) not in _LIFTS) or advances(standing):
            continue
        process = standing.member.process
        what = "the limit of processes and threads" if tasks else "a limit"
        lifts = f"cat /sys/fs/cgroup{{/pids,}}{tasks.path}/pids.max" if tasks else _LIFTS[handled(standing)]
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
            title=f"{who(process)} tries again and again in {at(standing.user_frame)} what {what} refuses",
            ranks=ranks_of(standing), processes=(process,),
            because=(*handling(standing), *_group(standing, tasks),
                     stands(standing), *waited_for(root)),
            next=(Step(f"cat /proc/{process.ref.pid}/limits", process.ref),
                  Step(lifts.replace("PID", str(process.ref.pid)), process.ref)),
        )  # fmt: skip


def _suspects(case: Case) -> Iterator[tuple[Root, Standing]]:
    """Those that pause in the job's code and that others wait for, or the one program that somebody pointed at."""
    old = {root.ref: root for root, _ in old_roots(case) if root.waiters}
    for ref, standing in case.standings.items() if case.snapshot.live else ():
        tries = standing.kind in _PAUSES and standing.wait.user >= 0
        if tries and (ref in old or (pointed_at(case, standing) and standing.ran)):
            yield old.get(ref, Root(ref)), standing


def _no_task(standing: Standing) -> TaskLimit | None:
    """The group that lets it make no process or thread, where that is what failed (fork(2), pthread_create(3))."""
    thread = standing.thread
    refused = thread is not None and (thread.errno == errno.EAGAIN or thread.handles == "RuntimeError")
    limit = standing.member.latest(TaskLimit) if refused else None
    return limit if limit is not None and limit.full else None


def _group(standing: Standing, tasks: TaskLimit | None) -> Iterator[Reason]:
    if tasks is not None:
        yield Reason(f"control group {tasks.path} has {tasks.count} tasks of the {tasks.limit} that it may have", "cgroup",
                     standing.member.ref)  # fmt: skip


RULE = make_rule(__name__, __doc__, "resource-limit", 10, check)
