"""Torch's flight recorder of every rank, read from its memory: which collectives it issued and which are over.

Looks only: no pause, no lock, no GIL. Costs about 8 ms a process once the symbol of this build of torch is known.
"""

from __future__ import annotations

from ...memory.buildid import SymbolCache
from ...memory.recorder import read_recorder
from ...memory.runtime import Families
from ...model.evidence.recorder import Recorder
from ...model.evidence.stacks import PythonStacks
from ...model.gap import Gap, Why
from ...model.process import ProcessRef, Role
from ..collector import Collector, Target, Touch


def collect(target: Target) -> Recorder | Gap | None:
    # A rank is asked in every sweep: it may make its first group between two of them.
    helper = target.process.role is not Role.RANK
    without: set[ProcessRef] = target.shelf.setdefault("without torch", set())
    if helper and (target.process.ref in without or not _runs_torch(target)):
        return None
    cache = target.shelf.setdefault("symbols", SymbolCache())
    families = target.shelf.setdefault("families", Families())
    found = read_recorder(target.process.ref.pid, target.proc, cache, families=families)
    if isinstance(found, Gap) and found.why is Why.MISSING:
        if helper:
            without.add(target.process.ref)
        return None  # no torch, or no process group: nothing is missing here
    return found


def _runs_torch(target: Target) -> bool:
    """Whether a process that is not known as a rank stands in torch: most helpers do not, and asking costs a millisecond."""
    stacks = target.seen.get("python-stacks")
    return isinstance(stacks, PythonStacks) and any(
        "/torch/" in frame.file for thread in stacks.threads for frame in thread.stack
    )


COLLECTOR = Collector(
    "recorder", Touch.PASSIVE, 5.0, collect, roles=frozenset({Role.RANK, Role.OTHER}), order=30
)  # the recorder comes after the stacks, so that both show nearly the same moment
