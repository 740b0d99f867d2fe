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
from collections.abc import Iterator, Sequence
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
    mark = mmap.mmap(-1, mmap.PAGESIZE)
    at = 0
    try:
        while at < len(steps):
            child = _Child(steps, at, work, mark)
            try:
                if not at:
                    meanwhile()
                yield from child.answers(deadline_s, idle)
            except KeyboardInterrupt:
                yield from child.said()
                raise
            finally:
                child.leave()
            at = child.next_step
    finally:
        mark.close()
        _reap()


def _reap() -> None:
    """Take those that have gone by now off the kernel's list, also the ones of earlier work."""
    for pid in tuple(_killed):
        with contextlib.suppress(ChildProcessError):
            if not os.waitpid(pid, os.WNOHANG)[0]:
                continue
        _killed.discard(pid)


class _Child(Generic[T]):
    """One forked child that works from step ``first`` on."""

    def __init__(self, steps: Sequence[T], first: int, work: Callable[[T, Send], None], mark: mmap.mmap) -> None:
        self.steps, self.next_step, self._mark, self._buffer = steps, first, mark, bytearray()
        self._pipe, write_end = os.pipe()
        with contextlib.suppress(OSError):  # so that the child need not wait while its parent does something else
            fcntl.fcntl(write_end, _F_SETPIPE_SZ, 1 << 20)
        mark[: _MARK.size] = _MARK.pack(first, time.monotonic())
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._pipe)
            _work(steps, first, work, mark, write_end)
        os.close(write_end)

    def answers(self, deadline_s: Callable[[T], float], idle: Callable[[], None]) -> Iterator[Answer[T]]:
        """What the child says until it ends, is stuck, or dies."""
        while True:
            ready, _, _ = select.select([self._pipe], [], [], _POLL_S)
            if ready:
                if not self._read():
                    break
                yield from self._whole()
                continue
            idle()
            step, since = self._progress()
            if step < len(self.steps) and time.monotonic() - since > deadline_s(self.steps[step]):
                if select.select([self._pipe], [], [], 0)[0]:
                    continue  # what it said of earlier steps while we were busy is taken first
                self.next_step = step + 1
                yield Answer(self.steps[step], Blocked("no answer before the deadline", time.monotonic() - since))
                return
        step, since = self._progress()
        self.next_step = step + 1
        if step < len(self.steps):
            yield Answer(self.steps[step], Blocked("the reading process died", time.monotonic() - since))

    def leave(self) -> None:
        """End the child if it can be ended; one in state D stays behind until it wakes."""
        os.close(self._pipe)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        _killed.add(self.pid)
        for _ in range(20):
            _reap()
            if self.pid not in _killed:
                return
            time.sleep(0.001)  # a killed child is gone within a tick; one in D is not, and nobody waits for it

    def _progress(self) -> tuple[int, float]:
        step, since = _MARK.unpack_from(self._mark, 0)
        return int(step), float(since)

    def said(self) -> Iterator[Answer[T]]:
        """What it has said so far and was not taken."""
        while select.select([self._pipe], [], [], 0)[0] and self._read():
            pass
        yield from self._whole()

    def _read(self) -> bool:
        chunk = os.read(self._pipe, 1 << 20)
        self._buffer += chunk
        return bool(chunk)

    def _whole(self) -> Iterator[Answer[T]]:
        """The answers that are there as a whole; what is left of them stays."""
        while len(self._buffer) >= _FRAME.size:
            step, size = _FRAME.unpack_from(self._buffer)
            end = _FRAME.size + size
            if len(self._buffer) < end:
                return
            said = bytes(self._buffer[_FRAME.size : end])
            del self._buffer[:end]
            yield Answer(self.steps[step], said)


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
