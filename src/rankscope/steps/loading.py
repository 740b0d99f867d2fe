"""Code is loaded while something else is waited for, and nothing interrupts that."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

from ..probe import engines
from ..probe.launcher import launchers


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Ctrl-C waits for the end of the block, which does not last: where one comes while modules are loaded, CPython before 3.12
    makes a RuntimeError of it (``Error calling __set_name__``), which nobody takes for an interruption."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(came[0])


@undisturbed()
def make_ready_to_look() -> None:
    """Load what the next steps need while a child reads the list of processes; its own child will find it loaded."""
    launchers()
    engines.load("memory")


@undisturbed()
def make_ready_to_judge() -> None:
    """Load what judges while children look."""
    from ..analysis import build, verdict  # noqa: F401
    from ..formats import live_log  # noqa: F401
    from ..report import screen  # noqa: F401
    from ..rules import rules

    rules()
