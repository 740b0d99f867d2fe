"""The place in its job that a process gave itself after it was started (Ray's workers, scripts that set RANK themselves).

Read from memory, by name: nothing but the variables of the list leaves the process.
"""

from __future__ import annotations

from ...memory import environment
from ...memory.source import Unreadable
from ...model.evidence.environ_now import EnvironNow
from ...model.evidence.stacks import PythonStacks
from ...model.process import Role
from ..collector import Collector, Target, Touch

_NAMES = frozenset({"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT"})


def collect(target: Target) -> EnvironNow | None:
    if not isinstance(target.seen.get("python-stacks"), PythonStacks):
        return None  # no Python, or one that may not be read: the gap of its stacks says so
    try:
        values = environment.read(target.proc, target.process.ref.pid, _NAMES, target.shelf.setdefault("known", {}))
    except Unreadable:
        return None  # who it is can be told in other ways
    return EnvironNow(values) if values else None


COLLECTOR = Collector(
    "environ-now", Touch.PASSIVE, 2.0, collect, every_sweep=False, roles=frozenset({Role.OTHER}), order=36
)
