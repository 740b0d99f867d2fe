"""A rank stands in the job's own code while the others wait for it in a collective.

## What it means
One rank left the common path: it sleeps, loops, waits for a person, a remote service or a condition that does not come. The
others entered the next collective and wait for it.

## How it is recognised
The rank's thread ends in a frame of the job itself (or in a sleep, input or poll called from there), it has not arrived where
its peers wait, and this has lasted longer than `--stuck-after`. A rank whose outer loops advance between the two looks is slow,
not stuck, and is reported as a straggler. That it is stuck is certain where it has itself slept, or waited at a prompt, for
that long; one that sleeps a little again and again may see to something that gets on, which speaks against it. One that has
just come to where it stands, however long the others have waited, is at most possibly stuck. So is one of no ranks that sleeps,
or waits for an event, while only its parents wait for its end or result, as of a server or scheduler; one that sleeps while
others queue for its file lock, as for a leader's; one that opens a FIFO; and one that waits for a queue, a socket or in its
event loop while its peers all stand in one broadcast, as a server does that has no request. A launcher is named where it waits
for the end of ranks that wait for what it should send, and has no other thread that could.

Of a program of no job: all its threads sleep without a time limit in locks, queues and conditions of its own process, so that
nobody is left who could end the wait (possible only where it is one thread in an event or a condition; nothing is said where it
has handlers of signals, which may bring that); or its event loop has nothing left to wait for. So it is with a program that has
children and waits for a future of its own.

## What to do
Read the line that is shown. A loop that polls needs a limit; a remote call needs a time-out; work that only one rank does
belongs before the collective, with the others told how long it may take.

## How to prevent it
Time-outs on everything outside the job; no `input()` or `breakpoint()` in code that runs under a launcher.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case, Root
from ...analysis.file_locks import keeps_others_out
from ...analysis.frame_tables import WaitKind
from ...analysis.helping import thread_at_work
from ...analysis.identity import module_path_of
from ...analysis.in_sight import minded
from ...analysis.kernel_says import SIGNAL
from ...analysis.load import RUNS
from ...analysis.loop_tasks import TaskView, awaited, last_awaited, loops
from ...analysis.orders import may_await_orders, serves, takes_from_parent
from ...analysis.own_age import own_s
from ...analysis.progress import advances
from ...analysis.standing import Standing
from ...analysis.threads import awaits_future, may_act_beside, nobody_acts, nobody_else, rests_alone, views
from ...analysis.waits.fifo import opens_fifo, takes_orders
from ...analysis.waits.store import asks_store
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.blocked import Blocked
from ...model.evidence.files import OpenFiles
from ...model.evidence.outsiders import Outsider
from ...model.evidence.sockets import Sockets
from ...model.evidence.stacks import Frame
from ...model.process import Role
from ...model.words import span
from .. import make_rule
from .._outside import outsiders, process_of, said
from .._say import at, certainty, handling, just_come, old_roots, pointed_at, ranks_of, stands, waited_for, who

_OWN = {WaitKind.USER, WaitKind.SLEEP, WaitKind.INPUT, WaitKind.SOCKET, WaitKind.LIBRARY, WaitKind.PIPE}
# In these it does nothing at all until it is woken.
_RESTS = {WaitKind.SLEEP, WaitKind.INPUT}
# Waits for another thread or program; a rule that knows whom it waits for explains this one away.
_SECOND_PARTY = {
    WaitKind.QUEUE,
    WaitKind.CONDITION,
    WaitKind.LOCK,
    WaitKind.CHILD,
    WaitKind.FILE_LOCK,
    WaitKind.IDLE,
    WaitKind.STORE,
}
# In these a program may rightly stand for as long as it likes when nobody waits for it.
_PATIENT = {
    WaitKind.SLEEP,
    WaitKind.IDLE,
    WaitKind.CONDITION,
    WaitKind.QUEUE,
    WaitKind.CHILD,
    WaitKind.LIBRARY,
    WaitKind.STORE,
}
# Who stands in these is told when to go on: by the clock, by a request, by a word to end.
_RESTING = (WaitKind.SLEEP, WaitKind.CONDITION, WaitKind.IDLE)


def check(case: Case) -> Iterator[Finding]:
    for root, standing in old_roots(case):
        if not _works(case, standing) or standing.kind not in _OWN | _SECOND_PARTY:
            continue
        if case.collectives and asks_store(case.members, standing):
            continue  # it waits for a key of its peers: which call it missed says more
        if standing.state in ("T", "t", "D", "Z") or (
            standing.user_frame is None and standing.kind is not WaitKind.LIBRARY
        ):
            continue
        if advances(standing) or not (root.waiters or _sick_alone(case, standing)) or serves(case, root):
            continue
        peers = "; its parent waits for it" if _rests(case, root, standing) else "; its peers wait for it"
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.NOTE if takes_from_parent(case, root) else Kind.CAUSE,
            certainty=certainty(case, root, standing, _best(case, root, standing)),
            title=f"{who(standing.member.process)} {_doing(standing)} in {at(_place(standing))}{peers if root.waiters else ''}",
            ranks=ranks_of(standing),
            processes=(standing.member.process, *(process_of(standing, one) for one in _peers(case, standing))),
            because=(stands(standing), *handling(standing), *_tasks(standing), *_alone(case, standing), *_threads(standing),
                     *_beside(case, standing), *waited_for(root)),
            against=tuple(_against(case, root, standing)),
            next=(Step(f"rankscope stacks pid:{standing.member.ref.pid} --source", standing.member.ref), *_look_up(standing),
                  *(Step(f"rankscope diagnose pid:{one.pid}", standing.member.ref) for one in _peers(case, standing))),
        )  # fmt: skip


def _works(case: Case, standing: Standing) -> bool:
    """Whether the process does the job's work: a rank, another member, the program itself where there are no ranks, or a parent
    that waits for the end of ranks which wait for its word, and has no thread that could send it."""
    role, minds = standing.member.role, standing.kind is WaitKind.CHILD and not may_act_beside(standing)
    return role in (Role.RANK, Role.OTHER) or (role is Role.LAUNCHER and (not case.ranks or minds))


def _sick_alone(case: Case, standing: Standing) -> bool:
    """Whether standing still is wrong although nobody waits for it: at a prompt, or in an endless wait of a program that
    somebody pointed at."""
    if standing.kind is WaitKind.INPUT:
        return True
    if not pointed_at(case, standing):
        return _awaits_itself(case, standing)
    patient = standing.kind in _PATIENT or _in_library(standing)
    return (not patient and standing.busy < RUNS) or nobody_else(standing) or _loop_of_nothing(case, standing)


def _awaits_itself(case: Case, standing: Standing) -> bool:
    """Whether it is the program itself, which has children, and wants a result that only its own threads could give: all of them
    sleep for good."""
    root = case.snapshot.live and standing.member.ref == case.snapshot.job.root
    return root and awaits_future(standing) and nobody_else(standing)


def _in_library(standing: Standing) -> bool:
    """Whether it sleeps in a call into compiled code that is not Python's own: so does a server while nothing is to do."""
    return any(view.python is standing.thread and view.of_python is False for view in views(standing.member))


def _loop_of_nothing(case: Case, standing: Standing) -> bool:
    """Whether it is an event loop that nothing will wake: no timer, no connection but its own wake-up pair, no thread at
    work, no other process."""
    member = standing.member
    blocked, files, sockets = member.latest(Blocked), member.latest(OpenFiles), member.latest(Sockets)
    if standing.kind is not WaitKind.IDLE or len(case.members) > 1 or not (blocked and files and sockets):
        return False
    call = next((one for one in blocked.calls if standing.kernel and one.tid == standing.kernel.tid), None)
    if call is None or call.timed or not call.call.startswith("epoll") or not call.fds:
        return False
    inodes = {one.fd: one.target for one in files.files}
    peers = {f"socket:[{one.inode}]": f"socket:[{one.peer_inode}]" for one in sockets.sockets if one.kind == "unix"}
    own = set(inodes.values())
    return all(peers.get(inodes.get(fd, "")) in own for fd in call.fds) and nobody_acts(member, standing.thread)


def _ends(standing: Standing) -> tuple[TaskView, ...]:
    """The tasks of its event loop that wait for what no other task brings."""
    every = loops(standing.member) if standing.kind is WaitKind.IDLE and standing.kernel is not None else ()
    mine = next((one for one in every if standing.kernel and one[0].task.tid == standing.kernel.tid), ())
    return last_awaited(mine)


def _place(standing: Standing) -> Frame | None:
    ends = _ends(standing)
    return ends[0].place if ends else standing.user_frame


def _tasks(standing: Standing) -> Iterator[Reason]:
    ends = _ends(standing)
    for view in ends[:3]:
        yield Reason(f"task {view.task.name} of its event loop awaits {awaited(view)} in {at(view.place)}", "python-stack",
                     standing.member.ref)  # fmt: skip
    if len(ends) > 3:
        yield Reason(f"and so do {len(ends) - 3} more tasks", "python-stack", standing.member.ref)


def _alone(case: Case, standing: Standing) -> Iterator[Reason]:
    if not pointed_at(case, standing) and not _awaits_itself(case, standing):
        return
    if _loop_of_nothing(case, standing):
        yield Reason("its event loop has no timer and no connection to wait for, and no thread that runs: each task awaits what "
                     "another one should bring (a lock, a future, a queue)", "kernel", standing.member.ref)  # fmt: skip
    if nobody_else(standing):
        only = len(views(standing.member)) == 1
        yield Reason("it is the only Python thread of its process: nobody is left who could end this wait" if only else
                     "all threads of its process sleep without a time limit in waits for each other", "kernel",
                     standing.member.ref)  # fmt: skip


def _threads(standing: Standing) -> Iterator[Reason]:
    """Where other threads of the process stand in the job's code, when it waits for one of them."""
    others = [view for view in views(standing.member) if view.python is not standing.thread and view.wait.user >= 0]
    for view in others[:3] if standing.kind in _SECOND_PARTY else ():
        if view.asleep:
            yield Reason(f"{view.name} stands in {at(view.wait.user_frame)}", "python-stack", standing.member.ref)


def _peers(case: Case, standing: Standing) -> tuple[Outsider, ...]:
    """Programs beside the job at the other end: what keeps them is asked of them."""
    return tuple(outsiders(case, standing))[:2]


def _beside(case: Case, standing: Standing) -> Iterator[Reason]:
    for one in _peers(case, standing):
        yield Reason(
            f"the other end of what it waits on is held by {said(one, standing)}", "kernel", standing.member.ref
        )


def _best(case: Case, root: Root, standing: Standing) -> Certainty:
    """Standing still in one's own code for long is seen, not inferred; running could be long work, and who sleeps a little,
    again and again, may see to something that gets on. A server waits for its next request as long as none comes."""
    if (
        may_await_orders(case, root)
        or _leads(case, standing)
        or _rests(case, root, standing)
        or takes_orders(standing)
        or (not root.waiters and rests_alone(standing))
        or takes_from_parent(case, root)
    ):
        return Certainty.POSSIBLE
    if standing.kind not in _RESTS:
        return Certainty.LIKELY
    busy = standing.kind is WaitKind.SLEEP and thread_at_work(standing) is not None
    if not case.stuck(own_s(standing)):
        return Certainty.POSSIBLE if busy else Certainty.LIKELY
    return Certainty.LIKELY if busy else Certainty.CERTAIN


def _leads(case: Case, standing: Standing) -> bool:
    """Whether it sleeps by itself, and nothing tells that those who want its lock should ever get it."""
    return standing.kind is WaitKind.SLEEP and keeps_others_out(case, standing.member.ref)


def _rests(case: Case, root: Root, standing: Standing) -> bool:
    """Whether it is no rank, and rests as servers and schedulers do, by which nobody is kept waiting."""
    rests = standing.kind in _RESTING and standing.member.role is not Role.RANK
    return rests and bool(root.waiters) and minded(case, root)


def _doing(standing: Standing) -> str:
    if standing.wait.op == SIGNAL:
        return "waits for a signal"
    return {
        WaitKind.SLEEP: "sleeps", WaitKind.INPUT: _prompt(standing),
        WaitKind.SOCKET: "looks up the address of a host" if _resolves(standing) else "waits on a socket or poll",
        WaitKind.PIPE: "opens a FIFO" if opens_fifo(standing) else "waits on a pipe",
        WaitKind.QUEUE: "waits for a queue", WaitKind.CONDITION: "waits for a condition",
        WaitKind.LOCK: "waits for a lock", WaitKind.CHILD: "waits for a thread or process to end",
        WaitKind.STORE: "waits for a key in the job's store", WaitKind.FILE_LOCK: "waits for a file lock",
        WaitKind.IDLE: "waits in its event loop", WaitKind.LIBRARY: f"is in {standing.wait.op}, called",
    }.get(standing.kind, "spins" if standing.busy > RUNS else "stands")  # fmt: skip


def _resolves(standing: Standing) -> bool:
    """Whether it waits for the answer of a name server."""
    return standing.wait.op == "getaddrinfo"


def _look_up(standing: Standing) -> Iterator[Step]:
    if _resolves(standing):
        yield Step(f"nsenter -t {standing.member.ref.pid} -m cat /etc/resolv.conf", standing.member.ref)


_DEBUGGERS = ("pdb.py", "bdb.py", "ipdb/", "IPython/terminal/debugger.py", "pudb/", "pydevd", "debugpy/")


def _prompt(standing: Standing) -> str:
    """A person is waited for: by a debugger, if one of its frames stands between the program and the prompt."""
    files = [module_path_of(frame) for frame in standing.own_stack[standing.wait.user + 1 :]]
    found = next((file for file in files if file.startswith(_DEBUGGERS)), None)
    name = found.split("/")[0].removesuffix(".py").replace("bdb", "pdb") if found else ""
    return f"stands at the prompt of a debugger ({name})" if found else "waits for input"


def _against(case: Case, root: Root, standing: Standing) -> Iterator[str]:
    if may_await_orders(case, root):
        yield "the others wait in the broadcast with which a server hands on its requests: there may be none at the moment"
    if takes_from_parent(case, root):
        yield "it reads from the parent that waits for it, of which another thread may bring it work"
    if _leads(case, standing):
        yield "all that others want of it is a file lock: a leader keeps that on purpose, and they stand by to take its place"
    if _rests(case, root, standing):
        yield "nobody lacks it but who waits for its end or result: a server, or one that works by the clock, rests like this"
    if takes_orders(standing):
        yield "it opens a FIFO: whoever gives it orders may open the other side at any time"
    if not root.waiters and rests_alone(standing):
        yield "Ctrl-C would end its wait: a program that is only kept alive until then stands like this"
    if standing.kind in (WaitKind.USER, WaitKind.LIBRARY) and standing.busy > RUNS:
        yield f"it uses {standing.busy:.0%} of a CPU: it may be long work; look again with --sweeps 3 --interval 10"
    yield from just_come(case, standing)
    naps = standing.kind is WaitKind.SLEEP and not case.stuck(own_s(standing))
    if naps and (standing.ran or standing.still_s is not None):
        how = "sleeps a little, again and again" if standing.ran else f"has rested for {span(standing.still_s)} only"
        yield f"its thread {how}: what it asks for between its naps may be on its way"
    other = thread_at_work(standing) if standing.kind is WaitKind.SLEEP else None
    if other is not None:
        yield f"another thread of it works, in {at(other.user_frame)}: it may wait for that one"


RULE = make_rule(__name__, __doc__, "rank-stuck-in-user-code", 30, check, yields_to=("nobody-left-to-wake",))
