"""Ranks whose gloo threads went to sleep with the main thread wait in a collective for those whose gloo threads slept before it.

Torch runs a collective of gloo in threads of its own (``pt_gloo_runloop``, torch/csrc/distributed/c10d/ProcessGroupGloo.cpp):
the main thread hands it over and waits, and one of them runs a moment later. Where the main thread ran last and all of them
slept already, it has handed nothing over since. Where all wait, and one came later without waking anybody, it called something
else. This needs no stack, only the moments at which threads ran last.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model.diagnosis import Wait
from ...model.evidence.threads import Threads
from ...model.process import Role
from ..awaited import hidden, slept
from ..crowd import Crowd, Share, for_all
from ..frame_tables import WaitKind
from ..scene import Scene
from ..standing import Standing

_NAME = "pt_gloo_runloop"
_FEWEST = 3
_WITH_S = 0.02
_AFTER_S = 0.05
_ALONE_S = 0.2  # groups that are entered in turn follow each other closely


def find(scene: Scene) -> Iterator[Wait | Share]:
    ranks = [one for one in scene.of_role(Role.RANK) if one.member.rank is not None and not one.member.gone]
    if any(one.thread is not None or not hidden(one.member) for one in ranks):
        return
    later = {one.member.ref: gloo_later_s(one) for one in ranks}
    if any(seconds is None for seconds in later.values()):
        return
    inside = [one for one in ranks if _waits(one) and (later[one.member.ref] or 0.0) < _WITH_S]
    outside = [one for one in ranks if (later[one.member.ref] or 0.0) > _AFTER_S]
    if len(inside) + len(outside) != len(ranks):
        return
    late = Crowd(tuple(one.member.ref for one in outside or _in_another_call(inside)))
    for one in inside:
        yield from for_all(one.member.ref, late, "a collective of gloo, as its threads tell", one.still_s)


def _in_another_call(inside: list[Standing]) -> list[Standing]:
    """The rank that came last and woke nobody: who joins a collective sends to its neighbour, and a thread of that one runs."""
    if len(inside) < _FEWEST:
        return []
    last = min(inside, key=lambda one: one.still_s or 0.0)
    reached = [min(_gloo_ages(one), default=0.0) for one in inside if one is not last]
    return [last] if all(age - (last.still_s or 0.0) > _ALONE_S for age in reached) else []


def _waits(standing: Standing) -> bool:
    return standing.kind is WaitKind.LOCK and slept(standing.member, standing.kernel)


def gloo_later_s(standing: Standing) -> float | None:
    """How long after the last of its gloo threads the main thread ran last; None where that cannot be told."""
    main, ages = standing.kernel.still_s if standing.kernel else None, _gloo_ages(standing)
    return min(ages) - main if ages and main is not None else None


def in_call(standing: Standing) -> bool:
    """Whether it waits in a call that it handed to its gloo threads."""
    later = gloo_later_s(standing)
    return later is not None and later < _WITH_S and _waits(standing)


def _gloo_ages(standing: Standing) -> list[float]:
    kernel = standing.member.latest(Threads)
    tasks = kernel.threads if kernel and kernel.exact_ages else ()
    return [task.still_s for task in tasks if task.comm == _NAME and task.still_s is not None]
