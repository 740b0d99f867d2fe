"""The number of a process that a dump does not tell: that of its main thread (gettid(2)), which began in the program."""

from __future__ import annotations

from collections.abc import Iterable

from ..model.evidence.stacks import PythonThread

# Where the stacks of main threads begin; those of all others begin in start_thread, clone or _bootstrap.
_BEGINNINGS = frozenset(
    {
        "_start",
        "__libc_start_main",
        "__libc_start_main_impl",
        "__libc_start_call_main",
        "<module>",
        "_run_module_as_main",
    }
)


def leader(threads: Iterable[tuple[PythonThread, bool]]) -> int | None:
    """The number of the main thread among those of one process, each with whether its dump calls it the first; None where no
    one thread is."""
    found = {thread.tid for thread, first in threads if thread.tid is not None and (first or _leads(thread))}
    return next(iter(found)) if len(found) == 1 else None


def _leads(thread: PythonThread) -> bool:
    outermost = thread.stack[0].function.partition("@")[0] if thread.stack else ""
    return thread.name == "MainThread" or outermost in _BEGINNINGS
