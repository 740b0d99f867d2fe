"""What the scheduler's clock shows on each CPU. Every CPU has its own (it leaves out time that interrupts and the hypervisor
took), so a moment that a thread noted on one CPU means something on that CPU only; over days they part by seconds.

A clock is read off our own thread while it runs there: nobody else is touched.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import Callable

_FRESH_S = 0.5
_BUDGET_S = 0.05  # a busy CPU lets us wait; then the ages of some threads are less exact


class Clocks:
    """The clocks of this host, each read when it is asked for; ``read`` gives our own thread's moment in milliseconds."""

    def __init__(self, read: Callable[[], float | None]) -> None:
        self._read = read
        self._home = os.sched_getaffinity(0)
        self._began = time.monotonic()
        self._spent = 0.0
        self._ahead: dict[int, float | None] = {}

    @property
    def fresh(self) -> bool:
        return time.monotonic() - self._began < _FRESH_S

    def now_ms(self, cpu: int) -> float | None:
        """What a CPU's clock shows now; None where we may not run there, or have spent enough time on clocks."""
        if cpu not in self._ahead:
            self._ahead[cpu] = self._look(cpu)
        ahead = self._ahead[cpu]
        return None if ahead is None else ahead + time.monotonic() * 1000

    def _look(self, cpu: int) -> float | None:
        if cpu not in self._home or self._spent > _BUDGET_S:
            return None
        begin = time.monotonic()
        try:
            os.sched_setaffinity(0, {cpu})
            seen = self._read()
            return None if seen is None else seen - time.monotonic() * 1000
        except OSError:
            return None
        finally:
            with contextlib.suppress(OSError):  # the CPUs that we may use were changed meanwhile, by the kernel itself
                os.sched_setaffinity(0, self._home)
            self._spent += time.monotonic() - begin
