"""Our own reader of interpreter memory: nobody is paused, nothing is attached to.

Serves CPython 3.8 to 3.14 on 64-bit Linux, in any state of the process (asleep, in D, stopped, traced, shutting down)
and in any namespace, wherever the kernel lets us read /proc/PID/mem (ptrace(2), "Ptrace access mode checking").
"""

from __future__ import annotations

import struct

from ...memory import process, runtime, source, tasks
from ...model.evidence.stacks import PythonStacks
from ...model.evidence.threads import Threads
from ...model.gap import Gap, Why
from ...model.process import ProcessRef
from ..engine import StackOptions

NAME = "memory"
_WHAT = PythonStacks.KIND  # type: ignore[attr-defined]
# Numbers of futex(2) on x86-64 and on aarch64.
_FUTEX = {202, 98}
SEEN_LIMIT = 16384


def make(proc: str = "/proc") -> MemoryEngine:
    """The engine for the processes under this proc."""
    return MemoryEngine(proc)


class MemoryEngine:
    """Keeps what it learned of families of processes, and how it last saw each one."""

    name = NAME

    def __init__(self, proc: str) -> None:
        self._proc = proc
        self._families = runtime.Families()
        self._seen: dict[ProcessRef, process.Seen] = {}

    def stacks(
        self, ref: ProcessRef, kernel: Threads | None, before: PythonStacks | None, options: StackOptions
    ) -> PythonStacks | Gap:
        """Read the Python threads of one process, or say why that cannot be."""
        wanted = process.Wanted(options.locals, options.strings, _futexes(kernel))
        last = self._seen.get(ref) if before is not None else None
        try:
            seen = process.read(self._proc, ref.pid, self._families, wanted, _looked(kernel), last)
        except Exception as error:
            return self._gap(ref, error)
        if len(self._seen) >= SEEN_LIMIT and ref not in self._seen:
            self._seen.pop(next(iter(self._seen)))
        self._seen[ref] = seen
        return seen.stacks

    def _gap(self, ref: ProcessRef, error: Exception) -> Gap:
        """Why a process could not be read; one that ended meanwhile fails in many ways, all of them its end."""
        if isinstance(error, PermissionError):
            from .. import access  # where all is open nobody needs it

            because, do = access.refusal(self._proc, ref)
            closed = "the kernel does not let us read its memory"
            return Gap(_WHAT, Why.DENIED, f"{closed}: {because}" if because else closed, do, ref)
        if isinstance(error, (FileNotFoundError, ProcessLookupError)) or self._gone(ref.pid):
            return Gap(_WHAT, Why.GONE, "the process ended", process=ref)
        if isinstance(error, runtime.NoInterpreter):
            return Gap(_WHAT, Why.UNSUPPORTED, str(error), process=ref)
        if isinstance(error, (runtime.UnknownLayout, source.Unreadable, struct.error)):
            return Gap(_WHAT, Why.UNKNOWN_LAYOUT, str(error), "py-spy may know it: --engine py-spy", ref)
        return Gap(_WHAT, Why.FAILED, f"{type(error).__name__}: {error}"[:200], process=ref)

    def _gone(self, pid: int) -> bool:
        try:
            return all(task.state in ("Z", "X") for task in tasks.read(self._proc, pid).values())
        except OSError:
            return True


def _looked(kernel: Threads | None) -> dict[int, tasks.Task] | None:
    """What the kernel said a moment ago, unless ids differ inside the process's own pid namespace."""
    if kernel is None or kernel.ns_pid is not None or not kernel.threads:
        return None
    return {
        thread.tid: tasks.Task(thread.tid, thread.tid, thread.state, thread.voluntary, thread.involuntary, thread.comm)
        for thread in kernel.threads
    }


def _futexes(kernel: Threads | None) -> dict[int, int]:
    """Which address each thread waits at in futex(2)."""
    threads = kernel.threads if kernel else ()
    return {each.tid: each.syscall[1] for each in threads if len(each.syscall) > 1 and each.syscall[0] in _FUTEX}
