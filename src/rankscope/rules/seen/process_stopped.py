"""A process of the job is stopped, traced or frozen.

## What it means
Somebody or something outside the program has halted one of its processes: SIGSTOP or Ctrl-Z, a debugger or tracer that holds
it, a scheduler that suspended the job, or a frozen cgroup. It will not go on by itself, and everybody who needs it waits.

## How it is recognised
The kernel shows state T (stopped) or t (held by a tracer; its main thread is enough), or the cgroup is frozen. Being traced
alone (strace watching a running program) is not this, and one that was halted more recently than `--stuck-after` while others
of the job run is only noted: programs that pace others halt them many times in a minute. Certain where somebody waits for it,
or where all ranks are halted, so that nobody is left who could wait. A halted process below a rank for which nobody waits (a
pager, a command in the background) is a note, and accuses nobody. A launcher is missed without a wait that shows: its ranks
may need the store that it serves.

## What to do
`kill -CONT PID` lets a stopped process go on. End or detach the tracer (its pid is in the report). Thaw the cgroup
(`echo 0 > cgroup.freeze`, or `scontrol resume JOBID`). A SIGSTOP that a killed debugger left behind is ended by SIGCONT too.

## How to prevent it
Use tools that do not stop a process in state D and that detach when they are killed; do not suspend single ranks.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case, Member, Root
from ...analysis.frame_tables import WaitKind
from ...analysis.threads import parent_of
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.environ import Environ
from ...model.evidence.sockets import Sockets
from ...model.evidence.threads import Threads
from ...model.process import ProcessRef, Role
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import counted, span, verb
from .. import make_rule
from .._say import name, waited_for, who


def check(case: Case) -> Iterator[Finding]:
    awaited = {root.ref: root for root in case.graph.roots if root.waiters}
    groups: dict[tuple[str, str], list[Member]] = {}
    for member in case:
        how = _lasting(case, member)
        if how is not None and (member.role is not Role.HELPER or member.ref in awaited):
            groups.setdefault((member.ref.host, how), []).append(member)
    workers, halted = _workers(case), {one.ref for members in groups.values() for one in members}
    for (_, how), members in groups.items():
        roots = [awaited[one.ref] for one in members if one.ref in awaited]
        missed = [one for one in members if one.ref in awaited or one.ref in workers or _may_be_missed(case, one)]
        paced = () if workers <= halted else tuple(_just_stopped(case, members))
        yield _finding(case, members, how, missed, roots, bool(roots) or (bool(missed) and workers <= halted), paced)


def _may_be_missed(case: Case, member: Member) -> bool:
    """Whether it is a launcher, for which no wait shows; or the child of one that stands, and nobody can see for what."""
    if member.role is Role.LAUNCHER:
        return True
    parent = parent_of(case, member)
    standing = case.standings.get(parent.ref) if parent is not None else None
    if standing is None or standing.ran is not False or standing.thread is not None:
        return False
    return standing.kernel is None or not standing.kernel.syscall


def _workers(case: Case) -> set[ProcessRef]:
    """The processes that do the job's work: its living ranks; where nothing tells who they are, all but its helpers, and of no
    job the program itself."""
    ranks = {member.ref for member in case.with_role(Role.RANK) if not member.dead}
    if ranks or case.snapshot.job.launcher == "none":
        return ranks or {member.ref for member in case if member.ref == case.snapshot.job.root}
    return {member.ref for member in case.with_role(Role.OTHER) if not member.dead}


def _lasting(case: Case, member: Member) -> str | None:
    """How a process is halted. A running program under strace is held for an instant at each call: only one that never
    ran is stopped."""
    kernel = member.latest(Threads)
    halted = kernel is not None and not member.gone and not case.standings[member.ref].ran
    main = member.ref.pid
    lasts = halted and all(_halted(look, main) for look in member.over_time(Threads))
    return _halted(kernel, main) if kernel and lasts else None


def _finding(
    case: Case,
    members: list[Member],
    how: str,
    missed: list[Member],
    roots: list[Root],
    sure: bool,
    paced: tuple[str, ...],
) -> Finding:
    """One finding for all that the same was done to on one host, ranks first. Those that are not ``missed``, because they neither
    work nor are waited for, accuse no rank."""
    members = sorted(members, key=lambda member: (member.role is not Role.RANK, member.ref.pid))
    first, kernel = members[0], members[0].latest(Threads)
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE if missed and not paced else Kind.NOTE,
        certainty=Certainty.CERTAIN if sure and not paced else Certainty.LIKELY,
        title=f"{_whom(members)} {verb('are', len(members))} {how}",
        ranks=RankSet(member.rank for member in missed if member.rank is not None),
        processes=tuple(member.process for member in members),
        because=(Reason(f"the kernel shows state {_states(kernel)} for {name(case, first.ref)}", "kernel", first.ref),
                 *(waited_for(_longest(roots)) if roots else () if missed else (Reason("nobody of the job waits for it"),)),
                 *(_keeps_the_store(case, members) if not roots else ())),
        against=paced, next=(_next(members, kernel, how),),
    )  # fmt: skip


def _just_stopped(case: Case, members: list[Member]) -> Iterator[str]:
    """A program that paces others stops them, and lets them go on, many times in a minute (cpulimit(1))."""
    ages = [case.standings[one.ref].still_s for one in members]
    oldest = max((age for age in ages if age is not None), default=None)
    if oldest is not None and not case.stuck(oldest):
        yield f"this has lasted for {span(oldest)} only: who paces a program stops it again and again"


def _keeps_the_store(case: Case, members: list[Member]) -> Iterator[Reason]:
    """Which ranks stand in a meeting, or wait for a key, at the port at which one of these listens."""
    for member in members:
        sockets = member.latest(Sockets)
        listens = (
            {one.local.rpartition(":")[2] for one in sockets.sockets if one.state == "listen"} if sockets else set()
        )
        ranks: dict[str, list[int]] = {}
        for rank, other in case.by_rank.items():
            environ = other.latest(Environ)
            port = environ.values.get("MASTER_PORT", "") if environ else ""
            if port in listens and other is not member and case.standings[other.ref].kind in _ASK_THE_STORE:
                ranks.setdefault(port, []).append(rank)
        for port, waiting in ranks.items():
            whom = f"{ranks_phrase(RankSet(waiting))} {verb('wait', len(waiting))}"
            text = f"{name(case, member.ref)} keeps the key-value store at port {port}, by which {whom} to meet"
            yield Reason(text, "sockets", member.ref)


_ASK_THE_STORE = (WaitKind.RENDEZVOUS, WaitKind.STORE)


def _longest(roots: list[Root]) -> Root:
    return max(roots, key=lambda root: (len(root.ranks), root.age_s or 0.0))


def _whom(members: list[Member]) -> str:
    """One process by its name; several as the ranks they are, and how many others."""
    if len(members) == 1:
        return who(members[0].process)
    ranks = RankSet(member.rank for member in members if member.role is Role.RANK and member.rank is not None)
    others = sum(member.role is not Role.RANK or member.rank is None for member in members)
    rest = f"{counted(others, 'other process')} of the job"
    host = f" on {members[0].ref.host}" if members[0].ref.host else ""
    return " and ".join([*([ranks_phrase(ranks)] if ranks else []), *([rest] if others else [])]) + host


def _halted(kernel: Threads, main: int) -> str | None:
    """How it is halted: whole, or its main thread, which is all that a tracer attaches to unless told otherwise."""
    states = {task.state for task in kernel.threads if task.state not in "ZX"}
    if kernel.frozen:
        return "frozen by its cgroup"
    if states and states <= {"T", "t"}:
        if kernel.tracer:
            return f"stopped and held by tracer pid {kernel.tracer}"
        return "stopped"
    if kernel.tracer and any(task.tid == main and task.state == "t" for task in kernel.threads):
        return f"held by tracer pid {kernel.tracer}, its main thread alone"
    return None


def _states(kernel: Threads | None) -> str:
    return "/".join(sorted({task.state for task in kernel.threads})) if kernel else "?"


def _next(members: list[Member], kernel: Threads | None, how: str) -> Step:
    first = members[0].ref
    if "cgroup" in how:
        return Step(
            f"cat /proc/{first.pid}/cgroup", first, "then write 0 to its cgroup.freeze (v1: THAWED to freezer.state)"
        )
    if kernel and kernel.tracer:
        return Step(f"ps -o pid,user,etime,args -p {kernel.tracer}", first, "then end it or let it detach")
    return Step("kill -CONT " + " ".join(str(member.ref.pid) for member in members[:100]), first)


RULE = make_rule(__name__, __doc__, "process-stopped", 10, check)
