"""Who waits for a result of a pool of processes waits for the workers that stand in the job's code: in a task, or in what each
worker runs before its first one (``initializer``).

A worker without a task brings nothing. While one of them gets on, or has come to its place much later than another, results
come in, and this one may be next.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model.diagnosis import Wait
from ...model.evidence.blocked import Blocked
from ...model.process import Role
from ..callers import awaits_callers
from ..frame_tables import WaitKind
from ..identity import name_of
from ..own_age import own_s
from ..pools import awaits_result, below
from ..scene import Scene
from ..standing import Standing

# The loops of workers: of multiprocessing's pool, of concurrent.futures, and of loky, which came from there.
_LOOPS = (
    ("multiprocessing/pool.py", "worker"),
    ("concurrent/futures/process.py", "_process_worker"),
    ("loky/process_executor.py", "_process_worker"),
    ("joblib/externals/loky/process_executor.py", "_process_worker"),
)
_LATER = 0.5  # of the time that another one has stood


def find(scene: Scene) -> Iterator[Wait]:
    for standing in scene.standings.values():
        if standing.helped or not awaits_result(standing):
            continue
        members = [one for one in scene.members.values() if one.ref.host == standing.member.ref.host and not one.gone]
        found = [scene.standings[one.ref] for one in below(members, standing.member) if one.ref in scene.standings]
        workers = [one for one in found if one.member.role is Role.OTHER and _has_work(one)]
        ages = [own_s(one) or 0.0 for one in workers if not _asks_for_lock(one)]
        if workers and (not ages or min(ages) >= _LATER * max(ages)):
            yield from (
                Wait(standing.member.ref, one.member.ref, "a result of this worker of its pool", standing.still_s)
                for one in workers
            )


def _asks_for_lock(worker: Standing) -> bool:
    """Whether it naps between two askings for a file lock (SQLite): how old the nap is tells nothing."""
    blocked = worker.member.latest(Blocked)
    return worker.kind is WaitKind.SLEEP and any(lock.asked for lock in (blocked.locks if blocked else ()))


def _has_work(worker: Standing) -> bool:
    """Whether it stands in the job's code below the loop of a pool's worker, and is no server between two calls."""
    if worker.wait.user < 0 or worker.state in ("Z", "X") or awaits_callers(worker):
        return False
    names = list(map(name_of, worker.own_stack[: worker.wait.user]))
    return any(loop in names for loop in _LOOPS)
