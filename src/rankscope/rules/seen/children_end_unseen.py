"""A program that ignores SIGCHLD asks again and again whether its children have ended, and never learns it.

## What it means
Who ignores SIGCHLD leaves the children that have ended to the kernel, which forgets them: `waitpid` says that there is no such
child, and `multiprocessing` and `subprocess` take that for one that still runs. `is_alive()` stays true, `poll()` stays None,
for ever.

## How it is recognised
The process ignores SIGCHLD (SigIgn in /proc/PID/status), naps in its own code and gets no further, while a child of it has
waited for longer than `--stuck-after` in what multiprocessing shares, without a limit. So may a program stand that waits for
something else: it is possible at most.

## What to do
Take `signal.signal(signal.SIGCHLD, signal.SIG_IGN)` out (or the setting of whoever started the program: it is inherited), and
`join()` the children.

## How to prevent it
`signal.signal(signal.SIGCHLD, signal.SIG_DFL)` at the start of programs that have children. Zombies cost nothing; `join()`
removes them.

## Links
https://docs.python.org/3/library/multiprocessing.html#multiprocessing.Process.is_alive
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.callers import call_of
from ...analysis.case import Case, Member
from ...analysis.frame_tables import WaitKind
from ...analysis.identity import module_path_of
from ...analysis.progress import advances
from ...analysis.standing import Standing
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.threads import Threads
from ...model.process import Role
from .. import make_rule
from .._say import at, ranks_of, stands, who


def check(case: Case) -> Iterator[Finding]:
    for standing in case.standings.values() if case.snapshot.live else ():
        member = standing.member
        asks = standing.kind is WaitKind.SLEEP and standing.wait.user >= 0 and not advances(standing)
        if not asks or not _ignores(member):
            continue
        waiting = [
            one
            for child in case.children_of(member.ref)
            if (one := case.standings.get(child.ref)) and _waits(case, one)
        ]
        if not waiting:
            continue
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.POSSIBLE,
            title=f"{who(member.process)} ignores SIGCHLD, so that it cannot see its children end, and asks again and again in "
                  f"{at(standing.user_frame)}",
            ranks=ranks_of(standing), processes=(member.process, *(one.member.process for one in waiting)),
            because=(Reason("the kernel shows SIGCHLD among the signals that it ignores", "kernel", member.ref), stands(standing),
                     *map(stands, waiting[:1])),
            against=("what it asks for may be something else",),
            next=(Step(f"grep SigIgn /proc/{member.ref.pid}/status", member.ref),
                  Step(f"rankscope stacks pid:{member.ref.pid} --source", member.ref)),
        )  # fmt: skip


def _ignores(member: Member) -> bool:
    kernel = member.latest(Threads)
    return kernel is not None and kernel.ignores_children and not member.gone and member.role is not Role.HELPER


def _waits(case: Case, standing: Standing) -> bool:
    """Whether it waits without a limit for what another process should do."""
    call = call_of(standing)
    shared = call is not None and call.shared and not call.timed
    inside = standing.own_stack[standing.wait.user + 1 :]
    between = any(module_path_of(frame) == "multiprocessing/synchronize.py" for frame in inside)
    return shared and between and case.stuck(standing.still_s)


RULE = make_rule(__name__, __doc__, "child-dead", 27, check)
