"""A rank that waits for its next batch waits for those of its loader workers that are not idle."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.diagnosis import Wait
from ...model.process import Role
from ..frame_tables import WaitKind
from ..scene import Scene
from ..standing import Standing, idle_worker


def find(scene: Scene) -> Iterator[Wait]:
    for standing in scene.standings.values():
        if standing.kind is not WaitKind.DATA or standing.member.role is Role.DATALOADER_WORKER:
            continue
        for worker in scene.children_of(standing.member.ref.pid, standing.member.ref.host):
            if worker.member.role is Role.DATALOADER_WORKER and not idle_worker(worker):
                yield Wait(standing.member.ref, worker.member.ref, f"next batch of loader worker {_name(worker)}",
                           _since_s(standing, worker))  # fmt: skip


def _since_s(standing: Standing, worker: Standing) -> float | None:
    """How long the batch has been late: a loader asks every five seconds whether its worker lives (torch/utils/data/_utils,
    MP_STATUS_CHECK_INTERVAL), so that a worker that has stood still meanwhile tells an older age."""
    ages = [standing.still_s, None if worker.moved or worker.ran else worker.still_s]
    return max((age for age in ages if age is not None), default=None)


def _name(worker: Standing) -> str:
    number = worker.member.process.worker
    return str(number) if number is not None else f"(pid {worker.member.ref.pid})"
