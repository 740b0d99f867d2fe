"""Ranks that wait for a batch on which no worker of their loader is at work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...analysis.case import Case, Root
from ...analysis.frame_tables import WaitKind
from ...analysis.identity import module_path_of
from ...analysis.progress import advances
from ...analysis.standing import Standing, idle_worker
from ...analysis.threads import views
from ...model.evidence.stacks import Frame
from ...model.process import Role
from .._say import old_roots, pointed_at

_QUEUES = "multiprocessing/queues.py"


def awaiting(case: Case) -> Iterator[tuple[Root, Standing, Sequence[Standing]]]:
    """Each rank of a running job that waits for a batch, and for which others wait, with its workers, which live and are idle."""
    for root, standing in old_roots(case) if case.snapshot.live else ():
        if standing.kind is not WaitKind.DATA or standing.member.role is Role.DATALOADER_WORKER:
            continue
        children = case.children_of(standing.member.ref)
        workers = [case.standings[one.ref] for one in children if one.role is Role.DATALOADER_WORKER]
        asked = root.waiters or pointed_at(case, standing)
        idle = workers and not any(one.member.dead or not idle_worker(one) for one in workers)
        if asked and idle and not advances(standing):
            yield root, standing, workers


def silent_s(standing: Standing, workers: Sequence[Standing]) -> float | None:
    """How long nothing has gone to the workers or come from them, by the threads that feed their queues, which wait without a
    limit (``Queue._feed``, Lib/multiprocessing/queues.py); None where one of these processes has none, or its age is not known.

    The loader and its workers themselves ask again every five seconds (``MP_STATUS_CHECK_INTERVAL``, torch/utils/data/_utils).
    """
    ages = [_fed_s(one) for one in (standing, *workers)]
    return min((age for age in ages if age is not None), default=None) if None not in ages else None


def _fed_s(standing: Standing) -> float | None:
    """How long the feeders of a process have waited for something to send; None where one is sending, or there is none."""
    feeders = [view for view in views(standing.member) if any(map(_feeds, view.stack))]
    ages = [
        view.task.still_s if view.task is not None and _name(view.stack[-1]) == "wait" else None for view in feeders
    ]
    return min((age for age in ages if age is not None), default=None) if None not in ages else None


def _feeds(frame: Frame) -> bool:
    return _name(frame) == "_feed" and module_path_of(frame) == _QUEUES


def _name(frame: Frame) -> str:
    return frame.function.rsplit(".", 1)[-1]
