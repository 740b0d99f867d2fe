"""Python stacks of every process, by the best engine that can serve it: our own reader, else py-spy; nobody is paused
unless the user allows it.

A process in state D, stopped or traced is read like any other, since reading memory does not touch it.
"""

from __future__ import annotations

from ...model.evidence.stacks import NativeStacks, PythonStacks, Trust
from ...model.evidence.threads import Threads
from ...model.gap import Gap
from ...model.process import Process
from .. import engines
from ..collector import Collector, Target, Touch
from ..engine import ANOTHER_MAY_KNOW, Engine

# In this order; the first that can serve a process does.
_AUTO = ("memory", "py-spy")


def collect(target: Target) -> PythonStacks | NativeStacks | Gap | None:
    if not _may_be_python(target.process):
        return None
    gap: Gap | None = None
    for name in _AUTO if target.engine == "auto" else (target.engine,):
        answer = _engine(target, name).stacks(
            target.process.ref, target.seen.get(Threads.KIND), _before(target, name), target.options  # type: ignore[attr-defined]
        )  # fmt: skip
        if not isinstance(answer, Gap):
            return _surer(target, answer)
        gap = gap or answer
        if answer.why not in ANOTHER_MAY_KNOW:
            break
    return gap


def _surer(target: Target, read: PythonStacks | NativeStacks) -> PythonStacks | NativeStacks:
    """The same process read while it stands still, where a thread of it ran meanwhile and the user allows to pause it."""
    running = any(thread.trust is not Trust.EXACT for thread in read.threads)
    if not running or not target.options.pause or target.engine != "auto" or read.paused_ms:
        return read
    kernel = target.seen.get(Threads.KIND)  # type: ignore[attr-defined]
    paused = _engine(target, "py-spy").stacks(target.process.ref, kernel, None, target.options)
    return read if isinstance(paused, Gap) else paused


def _may_be_python(process: Process) -> bool:
    name = (process.executable or (process.command[0] if process.command else "") or process.comm).rsplit("/", 1)[-1]
    return name.startswith(("python", "pypy", "ray::", "pt_")) or process.comm.startswith(("pt_", "ray::", "python"))


def _before(target: Target, engine: str) -> PythonStacks | None:
    before = target.before
    return before if isinstance(before, PythonStacks) and before.engine == engine else None


def _engine(target: Target, name: str) -> Engine:
    made: dict[str, Engine] = target.shelf.setdefault("engines", {})
    if name not in made:
        made[name] = engines.make(name, target.proc)
    return made[name]


COLLECTOR = Collector("python-stacks", Touch.PASSIVE, 3.0, collect, order=20, by_engine=True)
