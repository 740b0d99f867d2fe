"""Where nothing can be said: whether little was seen, and what would decide it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..model.diagnosis import State
from ..model.evidence.events import Event
from ..model.evidence.recorder import Recorder
from ..model.evidence.stacks import NativeStacks, PythonStacks
from ..model.gap import Why
from ..model.process import ProcessRef, Role
from .accounts import accounts
from .at_work import Well, well
from .away import away
from .case import Case
from .doings import Doing, doings
from .endings import ended_well
from .frame_tables import WaitKind
from .identity import name_of
from .in_sight import moves
from .looked_twice import gets_on
from .own_age import circle_s, own_s
from .scene import is_absent
from .standing import Standing
from .starting import starters
from .stillness import stand_long

# What says that something went wrong without saying what.
_TROUBLE = {
    "torch.watchdog_timeout", "torch.heartbeat_timeout", "torch.heartbeat_stuck", "torch.dist_backend_error", "gloo.op_timeout",
    "gloo.closed_by_peer", "gloo.read_error", "gloo.full_mesh_failed", "gloo.connect_failed", "nccl.socket_error", "nccl.warn",
    "nccl.last_error", "store.key_wait_timeout", "store.connect_timeout", "elastic.worker_failed",
    "elastic.root_cause", "python.exception",
}  # fmt: skip


def halts(case: Case) -> bool:
    """Whether nothing of a running job was seen to move: then a note, too, tells where to look next."""
    return case.snapshot.live and case.state in (State.STUCK, State.UNKNOWN)


def would_decide(case: Case) -> Iterator[str]:
    """What to gather when the evidence does not decide."""
    if case.snapshot.live:
        if (left_s := again_s(case)) is not None:
            yield f"rankscope diagnose   # again in {math.ceil(left_s)} s"
        if any(gap.why is Why.DENIED for gap in case.snapshot.gaps):
            yield "sudo -E rankscope diagnose        # as the job's user or root"
        yield "rankscope doctor                  # says what can be seen here, and why not"
        return
    if not any(member.latest(PythonStacks) or member.latest(NativeStacks) for member in case):
        yield "rankscope diagnose pid:N          # while it hangs, on each of its hosts (or slurm:JOBID, ssh:HOSTS)"
        yield "py-spy dump --nonblocking --pid N  # of every rank; then rankscope analyze DIR"
    else:
        yield "the same stacks once more, a minute later, of all ranks: what did not move is what hangs"
        yield "rankscope snapshot -o job.snap    # stacks, recorder, locks and sockets of all ranks in one look"


def _tells(event: Event) -> bool:
    """Whether it is more than that a process or device is there."""
    return _told(event) and event.event not in _ROWS


def _told(event: Event) -> bool:
    """Whether an event is more than a line of text that nobody knows."""
    return not event.event.startswith("text.")


# What may last for ever as well as end in the next moment.
_MAY_LAST = {
    WaitKind.COLLECTIVE, WaitKind.P2P, WaitKind.STORE, WaitKind.RENDEZVOUS, WaitKind.LOCK, WaitKind.CHILD, WaitKind.PIPE,
    WaitKind.DEVICE, WaitKind.STORAGE, WaitKind.GIL, WaitKind.IMPORT_LOCK, WaitKind.FILE_LOCK, WaitKind.FILE_BATON,
    WaitKind.BACKWARD,
}  # fmt: skip
_OWN = {WaitKind.USER, WaitKind.LIBRARY}


def _one_picture(case: Case) -> bool:
    """Whether somebody was seen to wait, or was not seen to run, and nothing tells for how long: a saved picture of one moment.
    In the program's own code only some tools tell a loop from a call into C that waits.

    That a log beside it gets on tells of the time before: it may have ended then.
    """
    if well(case) is Well.IS or gets_on(case) is not None:
        return False
    stands = any(
        one.kind in _MAY_LAST or (one.kind in _OWN and one.thread.active is not True) or _awaits_answer(one)
        for one in case.standings.values()
        if one.thread is not None and one.member.role is not Role.LAUNCHER
    )
    return stands or any(map(_waits, doings(case))) or _tables_only(case)


# Where a program waits for what it has asked for: the answer of a server, the result of a pool's worker. Who is ready for
# whatever comes waits elsewhere, in accept or select or for an item of a queue.
_READS = {"readinto", "recv", "recv_into", "read"}
_RESULTS = {"multiprocessing/pool.py", "concurrent/futures/_base.py"}
# In Python of threading: a semaphore that nobody releases, a barrier that not all reach.
_OF_OTHERS = {("threading.py", "acquire"), ("threading.py", "_wait"), ("threading.py", "_enter")}


def _awaits_answer(standing: Standing) -> bool:
    """Whether the program itself waits for an answer or a result that it asked for, or for what other threads must do."""
    wait = standing.wait
    if wait.user_frame is None:
        return False
    if wait.kind is WaitKind.CONDITION:
        names = [name_of(frame) for frame in standing.own_stack[wait.user + 1 :]]
        return any(name[0] in _RESULTS or (name[0], name[1].rpartition(".")[2]) in _OF_OTHERS for name in names)
    return wait.kind is WaitKind.SOCKET and wait.op in _READS


def _waits(doing: Doing) -> bool:
    """Whether it was seen, also by native frames alone, in what may last; who waits until a queue is empty has put into it, and
    that is no idling."""
    if doing.account is None or not doing.account.seen:
        return False
    return doing.kind in _LASTING or (doing.kind == WaitKind.QUEUE.value and doing.op == "join")


_LASTING = {kind.value for kind in _MAY_LAST}


# What says of processes and devices that they are there, in which state, and which call a thread is in.
_ROWS = {"proc.row", "proc.state", "proc.wchan", "proc.kernel_stack", "gpu.load", "strace.attached", "strace.blocked"}


def _tables_only(case: Case) -> bool:
    """Whether nothing but such rows was given: they show no place in a program."""
    told = {event.event for event in case.events if _told(event)}
    return bool(told) and told <= _ROWS and not any(account.seen for account in accounts(case))


# Of what was given, a part was not read.
_LIVE_PART = {Why.DAMAGED, Why.CUT}
_SAVED_PART = {Why.DAMAGED, Why.CUT, Why.FAILED, Why.DENIED}


def _in_part(case: Case) -> bool:
    """Whether not all that was given could be read: what is missing may be what is wrong. What was not seen of one process or
    host is another thing."""
    why = _LIVE_PART if case.snapshot.live else _SAVED_PART
    return any(gap.why in why and gap.process is None and gap.host is None for gap in case.snapshot.gaps)


def _empty_recorders_only(case: Case) -> bool:
    """Whether all that was seen of processes are recorders without a call: switched off, too small, or emptied."""
    seen = [record for member in case for look in member.looks for record in look.values()]
    return bool(seen) and not any(not isinstance(one, Recorder) or len(one.entries) for one in seen)


_FOR_PEERS = (WaitKind.COLLECTIVE, WaitKind.BACKWARD, WaitKind.P2P, WaitKind.RENDEZVOUS)
_LEAST_S = 1.0  # whatever is left, a second look comes later than the first


def again_s(case: Case) -> float | None:
    """In how many seconds another look would decide: nothing moved, and somebody waits for others of the job, or a circle is
    closed, for less than counts as stuck. None where that is not so: a program that just has nothing to do waits for nobody."""
    if not case.snapshot.live or case.state is not State.UNKNOWN:
        return None
    ranks = {member.ref for member in case.by_rank.values()}
    waiting = {wait.waiter for wait in case.graph.waits if wait.waiter in ranks and _of_ranks(case, wait.target)}
    waiting |= {ref for ref in ranks if case.standings[ref].kind in _FOR_PEERS}
    circles = [circle_s(case, cycle) for cycle in case.graph.cycles]
    if not waiting and not circles:
        return None
    ages = [own_s(case.standings[ref]) for ref in waiting if ref in case.standings]
    known = [age for age in (*ages, *circles) if age is not None]
    left_s = case.stuck_after_s - max(known, default=0.0)
    return max(_LEAST_S, left_s) if left_s > 0 or circles else None


def _of_ranks(case: Case, target: ProcessRef | None) -> bool:
    """Whether somebody is a rank or belongs to one: its loader, its helper."""
    member = case.by_ref.get(target) if target is not None else None
    return target is not None and (is_absent(target) or (member is not None and member.rank is not None))


def weak(case: Case) -> bool:
    """Whether "nothing found" only means that nothing could be seen, or that what was seen does not say why nothing moves."""
    if case.snapshot.live and (case.state is State.STUCK or (case.state is State.UNKNOWN and stand_long(case))):
        return True
    if again_s(case) is not None or starters(case):
        return True
    if ended_well(case):
        return False
    if not case.snapshot.live:
        shown = bool(case.snapshot.processes) and not _empty_recorders_only(case)
        nothing = not shown and not any(_tells(event) for event in case.events)
        return nothing or _in_part(case) or any(event.event in _TROUBLE for event in case.events) or _one_picture(case)
    if not case.members or _in_part(case):
        return True
    if case.state is not State.MOVING and away(case.snapshot, case.world_size):
        return True  # nothing wrong on the hosts that answered says nothing of those that did not
    seen = [standing for standing in case.standings.values() if standing.thread is not None]
    return not seen and not moves(case)
