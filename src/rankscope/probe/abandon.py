"""Work that may stand still, done in a child that can be left behind.

A read of /proc/PID/mem, cmdline or maps can block for ever when the target holds its own locks in state D. The steps run
in a forked child; when one does not end by its deadline, the child is killed and forgotten (if it is in state D itself
it dies later, by itself), the step is reported as blocked, and a new child goes on with the next one.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import mmap
import os
import select
import signal
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Callable, Generic, NoReturn, TypeVar

T = TypeVar("T")
Send = Callable[[bytes], None]

_FRAME = struct.Struct("<II")  # number of the step, length of what follows
_MARK = struct.Struct("<qd")  # number of the step at work, and since when (monotonic seconds)
_POLL_S = 0.05
_F_SETPIPE_SZ = 1031  # fcntl(2); Python names it from 3.10 on
_killed: set[int] = set()  # children that were still on their way out when last looked at


@dataclass(frozen=True)
class Blocked:
    """A step that did not end by its deadline, or whose child died on it."""

    reason: str
    after_s: float


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What one step said; a step may say several things."""

    step: T
    said: bytes | Blocked


def guarded(
    steps: Sequence[T],
    work: Callable[[T, Send], None],
    deadline_s: Callable[[T], float],
    idle: Callable[[], None] = lambda: None,
    meanwhile: Callable[[], object] = lambda: None,
) -> Iterator[Answer[T]]:
    """Run ``work`` on each step in order and yield what it sends, whatever the steps do.

    ``work(step, send)`` runs in the child. It shares nothing with us but what it sends; between steps of one child it
    may keep things in memory. ``idle`` is called here whenever the child has said nothing for a moment, ``meanwhile``
    once, as soon as the first child is at work.
    """
    yield from abreast((steps,), work, deadline_s, idle, meanwhile)


def abreast(
    rows: Iterable[Sequence[T]],
    work: Callable[[T, Send], None],
    deadline_s: Callable[[T], float],
    idle: Callable[[], None] = lambda: None,
    meanwhile: Callable[[], object] = lambda: None,
) -> Iterator[Answer[T]]:
    """Several rows of steps, each as ``guarded`` does one, at the same time; answers come as they are there."""
    begun: list[_Row[T]] = []
    try:
        for steps in rows:
            begun.append(_Row(steps, work))  # noqa: PERF401 - those that have begun are to be left where the next one fails
        meanwhile()
        while at_work := {row.child.pipe: row for row in begun if row.child is not None}:
            ready, _, _ = select.select(list(at_work), [], [], _POLL_S)
            if not ready:
                idle()
            for pipe, row in at_work.items():
                yield from row.heard() if pipe in ready else row.late(deadline_s)
    except KeyboardInterrupt:
        for row in begun:
            yield from row.child.said() if row.child is not None else ()
        raise
    finally:
        for row in begun:
            row.leave()
        _reap()


def _reap() -> None:
    """Take those that have gone by now off the kernel's list, also the ones of earlier work."""
    for pid in tuple(_killed):
        with contextlib.suppress(ChildProcessError):
            if not os.waitpid(pid, os.WNOHANG)[0]:
                continue
        _killed.discard(pid)


class _Row(Generic[T]):
    """Steps done in order: by one child, and behind a step that did not end by a new one."""

    def __init__(self, steps: Sequence[T], work: Callable[[T, Send], None]) -> None:
        self._steps, self._work, self._mark = steps, work, mmap.mmap(-1, mmap.PAGESIZE)
        self.child: _Child[T] | None = None
        self._go_on(0)

    def heard(self) -> Iterator[Answer[T]]:
        """What the child has said; where it has ended, a step that it did not come through is told of as well."""
        assert self.child is not None
        if self.child.read():
            yield from self.child.whole()
            return
        at = self.child.progress()[0]
        if at < len(self._steps):
            yield self._lost("the reading process died")
        self._go_on(at + 1)

    def late(self, deadline_s: Callable[[T], float]) -> Iterator[Answer[T]]:
        """The step that the child is at, where its time is over; what it said of earlier ones while we were busy is taken
        first."""
        assert self.child is not None
        at, since = self.child.progress()
        if at >= len(self._steps) or time.monotonic() - since <= deadline_s(self._steps[at]) or self.child.speaks():
            return
        yield self._lost("no answer before the deadline")
        self._go_on(at + 1)

    def leave(self) -> None:
        """Stop where it is."""
        if self.child is not None:
            self.child.leave()
            self.child = None

    def _lost(self, reason: str) -> Answer[T]:
        assert self.child is not None
        at, since = self.child.progress()
        return Answer(self._steps[at], Blocked(reason, time.monotonic() - since))

    def _go_on(self, at: int) -> None:
        self.leave()
        if at < len(self._steps):
            self.child = _Child(self._steps, at, self._work, self._mark)


class _Child(Generic[T]):
    """One forked child that works from step ``first`` on."""

    def __init__(self, steps: Sequence[T], first: int, work: Callable[[T, Send], None], mark: mmap.mmap) -> None:
        self._steps, self._mark, self._buffer = steps, mark, bytearray()
        self.pipe, write_end = os.pipe()
        with contextlib.suppress(OSError):  # so that the child need not wait while its parent does something else
            fcntl.fcntl(write_end, _F_SETPIPE_SZ, 1 << 20)
        mark[: _MARK.size] = _MARK.pack(first, time.monotonic())
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.pipe)
            _work(steps, first, work, mark, write_end)
        os.close(write_end)

    def progress(self) -> tuple[int, float]:
        """The number of the step at work, one beyond the last where all are done, and since when (monotonic seconds)."""
        step, since = _MARK.unpack_from(self._mark, 0)
        return int(step), float(since)

    def speaks(self) -> bool:
        """Whether it has said what was not read yet, or has ended."""
        return bool(select.select([self.pipe], [], [], 0)[0])

    def read(self) -> bool:
        """Take what it has said; whether it is still there."""
        chunk = os.read(self.pipe, 1 << 20)
        self._buffer += chunk
        return bool(chunk)

    def whole(self) -> Iterator[Answer[T]]:
        """The answers that are there as a whole; what is left of them stays."""
        while len(self._buffer) >= _FRAME.size:
            step, size = _FRAME.unpack_from(self._buffer)
            end = _FRAME.size + size
            if len(self._buffer) < end:
                return
            said = bytes(self._buffer[_FRAME.size : end])
            del self._buffer[:end]
            yield Answer(self._steps[step], said)

    def said(self) -> Iterator[Answer[T]]:
        """What it has said so far and was not taken."""
        while self.speaks() and self.read():
            pass
        yield from self.whole()

    def leave(self) -> None:
        """End the child if it can be ended; one in state D stays behind until it wakes."""
        os.close(self.pipe)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        _killed.add(self.pid)
        for _ in range(20):
            _reap()
            if self.pid not in _killed:
                return
            time.sleep(0.001)  # a killed child is gone within a tick; one in D is not, and nobody waits for it


def _work(steps: Sequence[T], first: int, work: Callable[[T, Send], None], mark: mmap.mmap, pipe: int) -> NoReturn:
    """The child: never returns, never raises, ignores Ctrl-C (the parent decides when it ends)."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # not ignored: the tools we start would inherit that
        gc.disable()  # short-lived, and a collection would copy the pages we share with the parent
        for number in range(first, len(steps)):
            mark[: _MARK.size] = _MARK.pack(number, time.monotonic())
            work(steps[number], _sender(pipe, number))
        mark[: _MARK.size] = _MARK.pack(len(steps), time.monotonic())
        status = 0
    finally:
        os._exit(status)


def _sender(pipe: int, step: int) -> Send:
    def send(data: bytes) -> None:
        view = memoryview(_FRAME.pack(step, len(data)) + data)
        while view:
            view = view[os.write(pipe, view) :]

    return send
