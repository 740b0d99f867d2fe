"""Who waits while its own threads or children get on: theirs is the work."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ..model.evidence.stacks import PythonStacks
from ..model.process import ProcessRef, Role
from .frame_tables import WaitKind
from .frames import at_rest
from .identity import name_of
from .load import WORKS
from .origin import module_path
from .pools import renews_workers
from .progress import AWAIT_WORK, advances, wants_cpu
from .standing import Standing, stand
from .threads import imports
from .turns import team_at_work


def helped(standings: Mapping[ProcessRef, Standing]) -> dict[ProcessRef, Standing]:
    """The standings, with a word at those whose own threads or children get on while they wait: theirs is the work."""
    parents = {(one.member.ref.host, one.member.process.parent) for one in standings.values() if _gets_on(one)}
    stay = {(one.member.ref.host, one.member.process.parent) for one in standings.values() if not one.member.gone}
    gone = {(one.member.ref.host, one.member.process.parent) for one in standings.values() if one.member.gone}
    renew = {(one.member.ref.host, one.member.ref.pid) for one in standings.values() if renews_workers(one.member)}
    # Of its workers some were there at one look only, or so briefly that none was met: they come and go.
    parents |= renew & gone | renew - stay
    out = dict(standings)
    for ref, one in standings.items():
        if team_at_work(one) or (one.kind in AWAIT_WORK and ((ref.host, ref.pid) in parents or _of_threads(one))):
            out[ref] = dataclasses.replace(one, helped=True)
    return out


def _of_threads(standing: Standing) -> bool:
    other = thread_at_work(standing)
    return (other is not None and _awaited(standing, other)) or _joined_get_on(standing) or _serves(standing)


def _gets_on(standing: Standing) -> bool:
    """Whether a child is at its own work: it computes, or stands in code of the job, which moves."""
    if standing.member.role is not Role.OTHER or standing.state in ("T", "t", "Z"):
        return False
    return standing.busy > WORKS or wants_cpu(standing) or (standing.wait.user >= 0 and advances(standing))


def thread_at_work(standing: Standing) -> Standing | None:
    """Another Python thread of the process that runs the job's code, uses the CPU and gets on."""
    stacks = standing.member.latest(PythonStacks)
    for thread in stacks.threads if stacks else ():
        if thread is not standing.thread:
            other = stand(standing.member, thread)
            at_work = (
                other.busy > WORKS
                or other.state == "R"
                or (other.ran and (_has_tasks(other) or _imported(standing, other)))
            )
            if other.wait.user >= 0 and at_work and advances(other):
                return other
    return None


def _awaited(standing: Standing, other: Standing) -> bool:
    """Whether it may wait for this thread: one that sleeps waits for nobody, unless it asks again and again how far a task is."""
    return standing.kind is not WaitKind.SLEEP or (bool(standing.ran) and _has_tasks(other))


def _imported(standing: Standing, other: Standing) -> bool:
    """Whether a thread is in the middle of an import for which this one may wait."""
    return standing.kind is WaitKind.IMPORT_LOCK and imports(other.own_stack)


def _joined_get_on(standing: Standing) -> bool:
    """Whether it waits for the end of a thread, and each one of those that do not wait for work themselves gets on."""
    joins = any(module_path(frame.file) == "threading.py" and frame.function.rsplit(".", 1)[-1] == "join"
                for frame in standing.own_stack)  # fmt: skip
    stacks = standing.member.latest(PythonStacks) if joins and standing.kind is WaitKind.CHILD else None
    others = [stand(standing.member, one) for one in (stacks.threads if stacks else ()) if one is not standing.thread]
    working = [one for one in others if not at_rest(one.own_stack)]
    return bool(working) and all(one.ran and one.wait.user >= 0 and advances(one) for one in working)


def manages(standing: Standing) -> bool:
    """Whether it is a manager of multiprocessing, which does nothing but what others ask of it."""
    return any(module_path(frame.file) == "multiprocessing/managers.py" and frame.function.endswith("serve_forever")
               for frame in standing.own_stack)  # fmt: skip


def _serves(standing: Standing) -> bool:
    """Whether it is a manager of multiprocessing that answers: one of its other threads has run."""
    stacks = standing.member.latest(PythonStacks) if manages(standing) else None
    others = (one for one in (stacks.threads if stacks else ()) if one is not standing.thread)
    return any(stand(standing.member, one).ran for one in others)


def _has_tasks(standing: Standing) -> bool:
    """Whether a thread does tasks of a pool: it gets on where its task does, however little CPU that takes."""
    inner = {name_of(frame) for frame in standing.own_stack}
    return bool(inner & {("multiprocessing/pool.py", "worker"), ("concurrent/futures/thread.py", "_worker")})
