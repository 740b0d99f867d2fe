"""Who waits for a lock of ``multiprocessing`` waits for the process whose own count says that it took it."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.diagnosis import Wait
from ...model.process import ProcessRef
from ..identity import name_of
from ..scene import Scene
from ..shared_locks import wanted
from ..standing import Standing

_WORKER = ("multiprocessing/pool.py", "worker")


def find(scene: Scene) -> Iterator[Wait]:
    for standing in scene.standings.values():
        lock = wanted(standing)
        for pid in lock.holders if lock is not None else ():
            me = standing.member.ref
            holder = scene.by_pid.get((me.host, pid), ProcessRef(me.host, pid))
            if holder != me and not _ends_its_pool(standing, pid):
                yield Wait(me, holder, "a lock of multiprocessing, which that one has taken", standing.still_s)


def _ends_its_pool(worker: Standing, holder: int) -> bool:
    """Whether the owner of a pool has the lock with which workers take tasks: it takes that to end them, so that none takes
    another one (Lib/multiprocessing/pool.py, ``_help_stuff_finish``)."""
    return holder == worker.member.process.parent and _WORKER in map(name_of, worker.own_stack)
