"""Ranks whose gloo threads went to sleep with the main thread wait in a collective for those whose gloo threads slept before it.

Torch runs a collective of gloo in threads of its own (``pt_gloo_runloop``, torch/csrc/distributed/c10d/ProcessGroupGloo.cpp):
the main thread hands it over and waits, and one of them runs a moment later. Where the main thread ran last and all of them
slept already, it has handed nothing over since. This needs no stack, only the moments at which threads ran last.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model.diagnosis import Wait
from ...model.evidence.threads import Threads
from ...model.process import Role
from ..awaited import hidden, slept
from ..frame_tables import Kind
from ..scene import Scene
from ..standing import Standing

_NAME = "pt_gloo_runloop"
_WITH_S = 0.02
_AFTER_S = 0.05


def find(scene: Scene) -> Iterator[Wait]:
    ranks = [one for one in scene.of_role(Role.RANK) if one.member.rank is not None and not one.member.gone]
    if any(one.thread is not None or not hidden(one.member) for one in ranks):
        return
    later = {one.member.ref: _later_s(one) for one in ranks}
    if any(seconds is None for seconds in later.values()):
        return
    inside = [one for one in ranks if _waits(one) and (later[one.member.ref] or 0.0) < _WITH_S]
    outside = [one for one in ranks if (later[one.member.ref] or 0.0) > _AFTER_S]
    if len(inside) + len(outside) != len(ranks):
        return
    for one in inside:
        for other in outside:
            yield Wait(one.member.ref, other.member.ref, "a collective of gloo, as its threads tell", one.still_s)


def _waits(standing: Standing) -> bool:
    return standing.kind is Kind.LOCK and standing.kernel is not None and slept(standing.member, standing.kernel)


def _later_s(standing: Standing) -> float | None:
    """How long after the last of its gloo threads the main thread ran last; None where that cannot be told."""
    kernel = standing.member.latest(Threads)
    main = standing.kernel.still_s if standing.kernel else None
    ages = [task.still_s for task in kernel.threads if task.comm == _NAME] if kernel and kernel.exact_ages else []
    told = [age for age in ages if age is not None]
    return min(told) - main if told and main is not None else None
