"""Pools of worker processes, seen from the program that owns one: who waits for a result, and what its threads and workers do.

The owner of a ``multiprocessing.Pool`` has three threads: one replaces workers that ended, one hands tasks out, one takes the
results (multiprocessing/pool.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ..model.evidence.stacks import Frame, PythonStacks, PythonThread
from ..model.process import Role
from .case import Member
from .identity import name_of, own
from .standing import Standing, stand

_POOL = "multiprocessing/pool.py"
_RESULTS = {"get", "wait", "next", "__next__", "join"}  # a pool ends when its last result is there
# Asks every hundredth of a second whether the next result is there (joblib/parallel.py).
_POLLS = ("joblib/parallel.py", "_retrieve")
_TAKES, _MINDS = "_handle_results", "_handle_workers"
_FUTURES = ("concurrent/futures/_base.py", "concurrent/futures/process.py")


def polls_pool(standing: Standing) -> bool:
    """Whether a library asks for the job's code, again and again, whether a pool has a result."""
    return _POLLS in map(name_of, _waits_in(standing))


def awaits_pool(standing: Standing) -> bool:
    """Whether the job's code waits for a result of a pool."""
    found = set(map(name_of, _waits_in(standing)))
    return _POLLS in found or any((_POOL, name) in found for name in _RESULTS)


def awaits_result(standing: Standing) -> bool:
    """Whether the job's code waits for a result of a pool, or for a future, which may be one of a pool of processes."""
    return awaits_pool(standing) or any(name_of(frame)[0] in _FUTURES for frame in _waits_in(standing))


def ends_pool(standing: Standing) -> bool:
    """Whether the thread takes a pool down: it has sent SIGTERM to the workers and waits for each of them."""
    return (_POOL, "_terminate_pool") in map(name_of, standing.own_stack)


def handlers(member: Member) -> set[str]:
    """The pool's functions in which threads of the process stood at any look: those of its owner, and ``worker`` of a pool of
    threads."""
    threads = (thread for look in member.over_time(PythonStacks) for thread in look.threads)
    frames = (name_of(frame) for thread in threads for frame in own(thread.stack))
    return {name for file, name in frames if file == _POOL}


def owned(member: Member) -> int:
    """How many pools of processes it owns."""
    return sum((_POOL, _MINDS) in map(name_of, own(thread.stack)) for thread in _threads(member))


def takes_results(member: Member) -> bool | None:
    """Whether the thread that takes the results slept through all looks; None where it is no more."""
    taker = _taker(member)
    return None if taker is None else taker.ran is False


def silent_s(member: Member) -> float | None:
    """How long the thread that takes the results has slept: no worker has sent one since. None where it is no more, or
    nothing tells."""
    taker = _taker(member)
    return taker.still_s if taker is not None and not taker.ran else None


def _taker(member: Member) -> Standing | None:
    thread = next((one for one in _threads(member) if (_POOL, _TAKES) in map(name_of, own(one.stack))), None)
    return None if thread is None else stand(member, thread)


def takes_task(standing: Standing) -> bool:
    """Whether a worker of a pool waits for its next task: what stands below its loop is the ``get`` of a queue."""
    names = [name_of(frame) for frame in standing.own_stack]
    loop = names.index((_POOL, "worker")) if (_POOL, "worker") in names else -1
    return loop >= 0 and [name for _, name in names[loop + 1 : loop + 2]] == ["get"] and standing.wait.user < 0


def replaces(worker: Member) -> bool:
    """Whether the frames it inherited at fork are those in which a pool makes up for a worker that ended, and no limit of
    tasks per worker explains that."""
    threads = _threads(worker)
    limited = any(local.name == "maxtasks" and local.value != "None" for thread in threads for local in thread.locals)
    makes_up = {(_POOL, "_maintain_pool"), (_POOL, _MINDS)}
    return not limited and any(name_of(frame) in makes_up for thread in threads for frame in thread.stack)


def below(members: Collection[Member], owner: Member) -> Iterator[Member]:
    """Its children and theirs: the workers of a fork server are grandchildren."""
    above = {owner.ref.pid}
    for _ in range(3):
        found = [one for one in members if one.process.parent in above and one.ref.pid not in above]
        yield from found
        above = {one.ref.pid for one in found}


def at_rest(owner: Standing, others: Iterable[Standing]) -> tuple[Standing, ...]:
    """The workers of a pool for whose result its owner waits, where each of them waits for a task; else none."""
    if not awaits_pool(owner) or takes_results(owner.member) is False:
        return ()
    here = {one.member.ref: one for one in others if one.member.ref.host == owner.member.ref.host}
    found = [
        here[one.ref] for one in below([one.member for one in here.values()], owner.member) if one.role is Role.OTHER
    ]
    alive = [one for one in found if not one.member.dead]
    idle = bool(alive) and all(takes_task(one) and one.ran is False for one in alive)
    return tuple(alive) if idle else ()


def _waits_in(standing: Standing) -> tuple[Frame, ...]:
    """The frames between the job's own code and the end of the stack."""
    return standing.own_stack[standing.wait.user + 1 :] if standing.wait.user >= 0 else ()


def _threads(member: Member) -> tuple[PythonThread, ...]:
    stacks = member.latest(PythonStacks)
    return stacks.threads if stacks else ()


def renews_workers(member: Member) -> bool:
    """Whether a process has a pool that replaces its workers after a number of tasks.

    The thread that minds the workers keeps the limit in its loop. It may run at one of the looks and cannot be read then; and
    the frames it calls may be over while they are read, and show what was there before.
    """
    return any(
        local.name == "maxtasksperchild" and local.value.isdigit() and _minds(thread, local.depth)
        for stacks in member.over_time(PythonStacks)
        for thread in stacks.threads
        for local in thread.locals
    )


def _minds(thread: PythonThread, depth: int) -> bool:
    return 0 <= depth < len(thread.stack) and name_of(thread.stack[depth]) == (_POOL, _MINDS)
