"""Ranks, or the children of a program without any, that stand in the opening of FIFOs wait for each other where nobody else is
left to open the other sides.

An open of one side lasts until somebody opens the other one (fifo(7)); whom the program means for that nothing tells. Where
all others wait for messages or for these, and the job has no process besides, it can only be one of themselves. So it is with two
children that open two FIFOs of one directory, one of them to write.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from ...model.diagnosis import Wait
from ...model.evidence.blocked import Blocked
from ...model.process import Role
from ..callers import call_of
from ..crowd import Crowd, Share, for_all
from ..frame_tables import WaitKind
from ..scene import Scene
from ..standing import Standing

_FOR_OTHERS = (
    WaitKind.COLLECTIVE,
    WaitKind.P2P,
    WaitKind.BACKWARD,
    WaitKind.SOCKET,
    WaitKind.STORE,
    WaitKind.RENDEZVOUS,
)
_BYSTANDERS = (Role.RANK, Role.LAUNCHER, Role.HELPER)


def find(scene: Scene) -> Iterator[Wait | Share]:
    living = [one for one in scene.standings.values() if not one.member.gone and one.state not in ("Z", "X")]
    ranks = [one for one in living if one.member.role is Role.RANK]
    work = ranks or [one for one in living if one.member.role is not Role.HELPER]
    openers = [one for one in work if opens_fifo(one) and (ranks or one.thread is not None)]
    if len(openers) < 2 or scene.missing or (ranks and any(one.member.role not in _BYSTANDERS for one in living)):
        return
    meanwhile = _FOR_OTHERS if ranks else (WaitKind.CHILD, WaitKind.QUEUE)
    alone = all(one in openers or (one.kind in meanwhile and one.ran is False) for one in work)
    if not alone and (ranks or not _crosswise(openers)):
        return
    crowd = Crowd(tuple(one.member.ref for one in openers))
    for one in openers:
        why = "the other side of a FIFO, which one of the others should open"
        yield from for_all(one.member.ref, crowd, why, one.still_s)


def _crosswise(openers: list[Standing]) -> bool:
    """Whether two siblings open two FIFOs of one directory, one of them to write, as a pair does that talks both ways. Workers
    that all open one to read may each wait for an order."""
    calls = [call for one in openers if (call := call_of(one)) is not None and call.opens]
    places = {os.path.dirname(call.opens) for call in calls}
    siblings = len({one.member.process.parent for one in openers}) == 1
    pair = len(openers) == len(calls) == len({call.opens for call in calls}) == 2
    return pair and siblings and len(places) == 1 and any(call.writes for call in calls)


def opens_fifo(standing: Standing) -> bool:
    """Whether its thread sleeps in the opening of a FIFO, as the call and the place in the kernel tell."""
    blocked, task = standing.member.latest(Blocked), standing.kernel
    if (
        blocked is None
        or task is None
        or standing.kind is not WaitKind.PIPE
        or not task.wchan.startswith("wait_for_partner")
    ):
        return False
    return any(call.tid == task.tid and call.call == "openat" for call in blocked.calls)


def takes_orders(standing: Standing) -> bool:
    """Whether it is no rank and opens a FIFO: whoever gives it orders may be no part of the job."""
    return standing.member.role is not Role.RANK and opens_fifo(standing)
