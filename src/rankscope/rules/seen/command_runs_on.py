"""A process waits for a command that it started and that does not end.

## What it means
The job called another program (`subprocess.run`, `os.system`, a shell script, a build, a copy to storage) and waits for its end
without a time limit. That program waits in turn: for input, for the network, for a lock.

## How it is recognised
A process of the job waits for the end of a child that is no Python program, which has not ended and has neither used the CPU nor
moved data between the two looks, nor has any program that it started. Below a build (a PyTorch extension, ninja) it is a
compiler that stands. It is only possible of one that is connected to another host (`ssh`, `srun`, `kubectl`), where its work may
go on; of one that polls (`tail -f`) or sleeps by the clock while no rank needs its end; of one that began a moment ago, and may
be one of many; and where the wait is for any of several children.

## What to do
See what the command waits for: `cat /proc/PID/wchan`, `ls -l /proc/PID/fd`, `strace -p PID`. End it with `kill PID`; the job
then sees its exit code.

## How to prevent it
`subprocess.run(…, timeout=…, stdin=subprocess.DEVNULL)`; no commands between collectives on some ranks only.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case, Member, Root
from ...analysis.frame_tables import WaitKind
from ...analysis.in_sight import commands_alone, foreign
from ...analysis.load import transferred, works_unseen
from ...analysis.standing import Standing
from ...analysis.threads import parent_of
from ...analysis.waits.child import named
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.files import OpenFiles
from ...model.evidence.sockets import Sockets
from ...model.evidence.threads import Threads
from ...model.process import Process
from ...model.ranks import RankSet
from ...model.words import span
from .. import make_rule
from .._say import certainty, just_come, name, old_roots, waited_for, who

_POLLS = ("poll_schedule_timeout", "do_poll", "do_sys_poll", "do_select", "ep_poll", "do_epoll_wait")
_NAPS = ("hrtimer_nanosleep", "do_nanosleep")


def check(case: Case) -> Iterator[Finding]:
    for root, standing in old_roots(case):
        member = standing.member
        if not foreign(member) or _works(standing):
            continue
        parent = parent_of(case, member)
        if parent is None or parent.ref not in root.waiters or commands_alone(case, root):
            continue
        rank = parent.rank
        against = tuple(_against(case, root, standing, parent))
        yield Finding(
            rule=RULE.id, cls=_class(case, root), kind=Kind.CAUSE,
            certainty=certainty(case, root, standing, Certainty.POSSIBLE if against else Certainty.LIKELY),
            title=f"{who(parent.process)} waits for the command {_command(member.process)} (pid {member.ref.pid})",
            ranks=RankSet([rank] if rank is not None else []), processes=(parent.process, member.process),
            because=(_waits(case, standing, parent),
                     Reason(f"that process is in state {standing.state}, wait channel "
                            f"{standing.kernel.wchan if standing.kernel else '?'}, and has not moved", "kernel", member.ref),
                     *waited_for(root)),
            against=(*against, *just_come(case, standing)),
            next=(Step(f"cat /proc/{member.ref.pid}/wchan; ls -l /proc/{member.ref.pid}/fd", member.ref),
                  Step(f"kill {member.ref.pid}", member.ref)),
        )  # fmt: skip


def _waits(case: Case, standing: Standing, parent: Member) -> Reason:
    """Who waits for it, and for what: the parent, or who reads what it writes."""
    direct = case.graph.to(standing.member.ref)
    wait = next((one for one in direct if one.waiter == parent.ref), direct[0])
    what = "the end of" if wait.why.startswith("the end of") else f"{wait.why}, held by"
    return Reason(f"{name(case, wait.waiter)} waits for {what} pid {standing.member.ref.pid}", "kernel", wait.waiter)


def _class(case: Case, root: Root) -> str:
    """A command that a build started is a compiler, whatever it is called."""
    builds = any(case.standings[ref].kind is WaitKind.COMPILE for ref in root.waiters if ref in case.standings)
    return "compile-worker" if builds else RULE.cls


def _works(standing: Standing) -> bool:
    """Whether the command, or what it started, computes or moves data."""
    moves = transferred(standing.member) > 0
    return moves or works_unseen(standing.member) or standing.state in ("R", "D", "T", "t", "Z")


def _against(case: Case, root: Root, standing: Standing, parent: Member) -> Iterator[str]:
    kernel = standing.member.latest(Threads)
    age = kernel.uptime_s if kernel is not None else None
    if age is not None and not case.stuck(age):
        yield f"the command began {span(age)} ago: it may be one of many"
    if (peer := _elsewhere(standing, parent)) is not None:
        yield f"it is connected to {peer or 'somebody'}: what it waits for may be at work there"
    elif not root.ranks and kernel is not None:
        channel = (standing.kernel or kernel.threads[0]).wchan
        if channel.startswith(_POLLS):
            yield "it polls: a program that watches or serves does so for as long as nothing comes"
        elif channel.startswith(_NAPS):
            yield "it sleeps by the clock, as a loop that watches does between two looks"
    waiter = case.standings.get(parent.ref)
    if waiter is not None and waiter.kind is WaitKind.CHILD and named(waiter) is None:
        others = len(case.graph.by_waiter.get(parent.ref, ())) - 1
        if others > 0:
            yield f"the wait is for any child, and {others} more may be meant"


def _elsewhere(standing: Standing, parent: Member) -> str | None:
    """Who is at the other end of a connection that it has made itself to another host; empty where only its wait shows that
    it has one."""
    sockets, inherited = standing.member.latest(Sockets), parent.latest(Sockets)
    if sockets is None:
        hidden = standing.member.latest(OpenFiles) is None
        return "" if standing.kind is WaitKind.SOCKET and hidden else None
    known = {one.inode for one in inherited.sockets} if inherited else set()
    made = (
        one for one in sockets.sockets if one.kind == "tcp" and one.state == "established" and one.inode not in known
    )
    return next((one.peer for one in made if not one.peer_inode), None)


def _command(process: Process) -> str:
    program = process.command[0] if process.command else process.comm
    return program.rsplit("/", 1)[-1]


RULE = make_rule(__name__, __doc__, "rank-stuck-in-user-code", 27, check)
