"""A parent waits for a result that its dead child will never send.

## What it means
A worker process was killed or crashed in the middle of its task. `multiprocessing.Pool` quietly starts another one, but the
task is lost and `get()` or `map()` waits for ever; a hand-made protocol over queues or pipes does not notice at all.

## How it is recognised
A process waits for a result, and one of its children is a zombie that ended badly, or still bears the frames in which a pool
makes up for a worker that ended; or it waits for a pool of processes of which none lives, because each new one fails before its
first task. A child that disappeared between the looks may have ended well; it counts where the process has waited in
multiprocessing since before that, and has not run. Or it waits in a lock, condition or barrier of multiprocessing or for room
in a queue, and another child of its parent is such a zombie; a lock of a manager is waited for by the thread that serves the
one who asks.

## What to do
Find why the child died (`dmesg` for the OOM killer, its core file, its last output). Use `concurrent.futures`, which raises
`BrokenProcessPool`, or give `get()` a time-out.

## How to prevent it
Pools that notice; limits on memory per task; time-outs on every result.

## Links
https://github.com/python/cpython/issues/66587
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...analysis.case import Case, Member, Root
from ...analysis.frame_tables import WaitKind
from ...analysis.identity import module_path_of, name_of
from ...analysis.own_age import own_s
from ...analysis.pools import awaits_pool, below, handlers, renews_workers, replaces
from ...analysis.standing import Standing, stand
from ...analysis.threads import ThreadView, views
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.blocked import Blocked
from ...model.evidence.threads import Threads
from ...model.process import ProcessRef, Role
from ...model.ranks import RankSet
from ...model.words import span
from .. import make_rule
from .._death import ended
from .._say import at, certainty, just_come, old_roots, stands, waited_for, who

_AWAITS_RESULT = {WaitKind.CONDITION, WaitKind.QUEUE, WaitKind.PIPE, WaitKind.SOCKET, WaitKind.CHILD, WaitKind.LOCK}


def check(case: Case) -> Iterator[Finding]:
    for root, standing in old_roots(case):
        if standing.kind not in _AWAITS_RESULT or standing.member.role is Role.DATALOADER_WORKER:
            continue
        children = [one for one in _children(case, standing.member) if one.role not in (Role.HELPER, Role.RANK)]
        lost = _lost(case, standing, children)
        if lost is not None:
            yield _finding(case, root, standing, *lost)
        elif case.snapshot.live and _pool_is_empty(case, standing):
            yield _finding(
                case, root, standing, (), "its pool has no worker that lives: each one ends before its first task"
            )
    yield from _siblings(case)
    yield from _managed(case)


def _children(case: Case, parent: Member) -> Iterable[Member]:
    """The children of a process; of dumps, which do not say whose child one is, those that a pool put in the place of others."""
    if case.snapshot.live:
        return case.children_of(parent.ref)
    return [one for one in case if one is not parent and replaces(one)]


def _siblings(case: Case) -> Iterator[Finding]:
    """A lock, condition, barrier or full queue between children of one parent, of whom one has died; told once per dead child."""
    told: set[ProcessRef] = set()
    for standing in case.standings.values():
        member = standing.member
        if member.role is not Role.OTHER or not case.stuck(standing.still_s) or not _between_processes(standing):
            continue
        for other in case.siblings_of(member):
            if not (other.dead and _badly(other)) or other.ref in told:
                continue
            told.add(other.ref)
            yield Finding(
                rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
                title=f"{who(member.process)} waits in {at(standing.user_frame)} for what its dead sibling pid {other.ref.pid} "
                      "should have done",
                processes=(other.process, member.process),
                because=(Reason(f"pid {other.ref.pid} {ended(other)}", "kernel", other.ref), stands(standing)),
                next=(_kernel_log(member),),
            )  # fmt: skip


def _managed(case: Case) -> Iterator[Finding]:
    """A manager whose thread waits, on behalf of a process, for a lock, while another process of this family has died."""
    for member in case:
        served = next((view for view in views(member) if _serves(view) and view.wants_lock), None)
        still = served.task.still_s if served is not None and served.task is not None else None
        if served is None or not case.stuck(still):
            continue
        lost = next((one for one in case.siblings_of(member) if one.dead and _badly(one)), None)
        root = case.graph.root(member.ref)
        if lost is None and root is not None and _all_wait(case, member, root):
            seen = f"{served.name} has waited for a client's lock for {span(still)}"
            yield _kept_by_nobody(case, stand(member, served.python), root, seen)
        elif lost is not None:
            asks = (case.by_ref[wait.waiter].process for wait in case.graph.to(member.ref))
            yield Finding(
                rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
                title=f"{who(member.process)} manages a lock that its dead sibling pid {lost.ref.pid} seems to hold",
                ranks=RankSet([member.rank] if member.rank is not None else []), processes=(lost.process, member.process, *asks),
                because=(Reason(f"pid {lost.ref.pid} {ended(lost)}", "kernel", lost.ref),
                         Reason(f"{served.name} has waited for {span(still)} for a lock that somebody asked for", "python-stack",
                                member.ref), *(waited_for(root) if root else ())),
                next=(_kernel_log(member),),
            )  # fmt: skip


def _all_wait(case: Case, manager: Member, root: Root) -> bool:
    """Whether everybody who could give back a manager's lock waits for it: its parent, and that one's other children."""
    parent = manager.process.parent
    family = [one for one in case.by_host[manager.ref.host] if parent in (one.ref.pid, one.process.parent)]
    able = {one.ref for one in family if one.role is not Role.HELPER and not one.dead}
    return bool(root.waiters) and able <= {*root.waiters, manager.ref}


def _kept_by_nobody(case: Case, serving: Standing, root: Root, seen: str) -> Finding:
    manager = serving.member
    return Finding(
        rule=RULE.id, cls="lock-order-deadlock", kind=Kind.CAUSE, certainty=certainty(case, root, serving),
        title=f"{who(manager.process)} manages a lock for which all wait who could give it back",
        ranks=RankSet([manager.rank] if manager.rank is not None else []),
        processes=(manager.process, *(case.by_ref[ref].process for ref in root.waiters if ref in case.by_ref)),
        because=(Reason(seen, "python-stack", manager.ref), *waited_for(root)),
        against=("a process may have died with it, and have been collected since",),
        next=(Step(f"rankscope stacks pid:{manager.ref.pid}", manager.ref),),
    )  # fmt: skip


def _serves(view: ThreadView) -> bool:
    """Whether a thread answers one client of a manager."""
    return any(name_of(frame) == ("multiprocessing/managers.py", "serve_client") for frame in view.stack)


def _between_processes(standing: Standing) -> bool:
    """Whether it waits in one of multiprocessing's locks, conditions or barriers, or for room in a queue, and not for work."""
    if standing.kind is WaitKind.IDLE:
        return False
    frames = [name_of(one) for one in standing.own_stack[standing.wait.user + 1 :]]
    return any(file == "multiprocessing/synchronize.py" for file, _ in frames) or (
        frames[-1:] == [("multiprocessing/queues.py", "put")]
    )


def _lost(case: Case, standing: Standing, children: list[Member]) -> tuple[tuple[Member, ...], str] | None:
    if _named_child(standing):
        return None  # wait4 returns at once for a dead child: this one is waited for because it lives
    dead = tuple(one for one in children if (_missed(case, standing) if one.gone else one.dead and _badly(one)))
    if dead:
        state = "gone" if dead[0].gone else "a zombie that nobody has reaped"
        return dead, f"its child pid {dead[0].ref.pid} is {state}" + _so_are(dead[1:])
    for child in children if awaits_pool(standing) else ():
        if replaces(child):
            return (
                (child,),
                f"pool worker pid {child.ref.pid} was forked by the pool's maintenance thread: it replaces one",
            )
    return None


def _so_are(others: tuple[Member, ...]) -> str:
    return f", and {len(others)} more of its children ended badly" if others else ""


def _pool_is_empty(case: Case, standing: Standing) -> bool:
    """Whether a process waits for a pool that should have workers, and none that was there is left.

    A pool of threads has its workers inside; one with a limit of tasks per worker replaces them all the time.
    """
    member = standing.member
    inside = handlers(member) if awaits_pool(standing) else set()
    if "_handle_workers" not in inside or "worker" in inside or renews_workers(member):
        return False
    return not any(one.role is Role.OTHER and not one.dead for one in below(case.by_host[member.ref.host], member))


def _missed(case: Case, standing: Standing) -> bool:
    """Whether a child that went away between the looks may be missed: its parent has waited in multiprocessing since before that,
    and nobody who looks after its children has seen to it."""
    inside = standing.own_stack[standing.wait.user + 1 :]
    waits = awaits_pool(standing) or any(module_path_of(frame).startswith("multiprocessing/") for frame in inside)
    since_before = not standing.ran and case.stuck(own_s(standing))
    return waits and since_before and not _reaped_rightly(standing.member)


def _reaped_rightly(member: Member) -> bool:
    """Whether a child that went away may have ended well: another thread of the process looks after its children, and is no
    pool that makes up for one that it lost."""
    if not views(member):
        return True  # without stacks nothing tells
    frames = [frame for view in views(member) for frame in view.stack]
    pool = any(module_path_of(frame) == "multiprocessing/pool.py" for frame in frames)
    return renews_workers(member) if pool else len(views(member)) > 1


def _named_child(standing: Standing) -> bool:
    blocked = standing.member.latest(Blocked)
    tid = standing.kernel.tid if standing.kernel else 0
    return any(call.tid == tid and call.child for call in (blocked.calls if blocked else ()))


def _badly(child: Member) -> bool:
    """Whether it may have ended badly: a zombie's exit status 0 is a good end where the kernel lets us read it."""
    kernel = child.latest(Threads)
    return kernel is None or kernel.exit_status != 0 or child.gone


def _kernel_log(member: Member) -> Step:
    return Step("dmesg -T | grep -iE 'killed process|segfault' | tail", member.ref)


def _finding(case: Case, root: Root, standing: Standing, lost: tuple[Member, ...], text: str) -> Finding:
    member, compiles = standing.member, bool(lost) and lost[0].role is Role.COMPILE_WORKER
    return Finding(
        rule=RULE.id, cls="compile-worker" if compiles else RULE.cls, kind=Kind.CAUSE,
        certainty=certainty(case, root, standing),
        title=f"{who(member.process)} waits for a result of a child that died, in {at(standing.user_frame)}",
        ranks=RankSet([member.rank] if member.rank is not None else []),
        processes=(member.process, *(child.process for child in lost)),
        because=(Reason(text, "kernel", lost[0].ref if lost else member.ref), *waited_for(root)),
        against=tuple(just_come(case, standing)), next=(_kernel_log(member),),
        compared=bool(lost) and replaces(lost[0]),
    )  # fmt: skip


RULE = make_rule(__name__, __doc__, "child-dead", 22, check, yields_to=("workers-renewed-in-vain",))
