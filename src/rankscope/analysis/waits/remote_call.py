"""A rank in a call of torch's RPC waits for whoever answers calls, and in its shutdown for all who are not there yet.

Whom a call asks is a name, and names are not read from memory; so those count who have a thread that answers one, and in a job of
two the other one. While such a thread gets on, whoever waits is served: nobody waits for long, and there is no edge.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model.diagnosis import Wait
from ...model.process import Role
from ..answering import answering, answers
from ..crowd import Crowd, Share, for_all
from ..origin import module_path
from ..scene import Scene
from ..standing import Standing

_API = "torch/distributed/rpc/api.py"
_CALLS = {"rpc_sync"}
_ENDS = {"_wait_all_workers", "_all_gather"}
_MOST = 0.5  # of the time for which others have waited


def find(scene: Scene) -> Iterator[Wait | Share]:
    ranks = [one for one in scene.of_role(Role.RANK) if one.member.rank is not None]
    calls = [one for one in ranks if _inside(one, _CALLS)]
    ends = [one for one in ranks if ends_calls(one)]
    if not (calls or ends) or any(answers(one.member) for one in ranks):
        return
    busy = Crowd(tuple(one.member.ref for one in ranks if answering(one.member))) if calls else Crowd(())
    both = Crowd(tuple(one.member.ref for one in ranks) if len(ranks) == 2 else ())
    for one in calls:
        asked = busy if any(ref != one.member.ref for ref in busy.refs) else both
        yield from for_all(one.member.ref, asked, "the answer to its remote call", one.still_s)
    since = min((one.still_s or 0.0 for one in ends), default=0.0)
    absent = Crowd(tuple(one.member.ref for one in ranks if not ends_calls(one) and _has_stood(one, since)))
    for one in ends:
        yield from for_all(one.member.ref, absent, "the end of its remote calls", one.still_s)


def ends_calls(standing: Standing) -> bool:
    """Whether a rank is in the shutdown of torch's RPC, in which it answers until all others have come."""
    return _inside(standing, _ENDS)


def _has_stood(standing: Standing, since: float) -> bool:
    """Whether it has been where it is for about as long as others wait for the end: one that came there later is at its work, and
    a server waits for that in its shutdown from the start."""
    return standing.still_s is None or standing.still_s >= _MOST * since


def _inside(standing: Standing, functions: set[str]) -> bool:
    """Whether its deciding thread stands in one of these functions, and in nothing of the job below it."""
    inner = standing.own_stack[standing.wait.user + 1 :]
    return any(module_path(frame.file) == _API and frame.function in functions for frame in inner)
