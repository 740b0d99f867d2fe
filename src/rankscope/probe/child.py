"""Another tool run in a child of ours, with a deadline and a limit on what it may say."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Callable

OUTPUT_LIMIT = 64 << 20
ERRORS_LIMIT = 1 << 16
_LAST_WORDS_S = 0.5
_PDEATHSIG = 1  # PR_SET_PDEATHSIG of prctl(2)


@dataclass(frozen=True)
class Told:
    """What a tool said; ``status`` is None when it was still at work at its deadline (and was ended)."""

    status: int | None
    output: bytes
    errors: str
    took_s: float


def run(arguments: Sequence[str], deadline_s: float, environment: dict[str, str] | None = None) -> Told:
    """Run a tool to its end or its deadline; raise OSError when it cannot be started.

    It is in a session of its own, so that what it starts can be ended with it; when we are left behind it ends with us.
    """
    began = time.monotonic()
    child = subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=leaving_with_us(),
        env=environment,
        cwd="/",
    )
    heard = _listen(child, began + deadline_s)
    status = _end(child, heard is not None, began + deadline_s)
    output, errors = heard or (b"", b"")
    return Told(status, output, errors.decode("utf-8", "replace"), time.monotonic() - began)


def leaving_with_us() -> Callable[[], None]:
    """What a tool does before it starts: have itself ended when we are killed: nobody minds its deadline then (prctl(2))."""
    import ctypes  # most looks start no tool

    prctl, ours = ctypes.CDLL(None).prctl, os.getpid()

    def leave() -> None:
        prctl(_PDEATHSIG, int(signal.SIGTERM))
        if os.getppid() != ours:  # killed a moment ago
            os._exit(1)

    return leave


def _listen(child: subprocess.Popen[bytes], until: float) -> tuple[bytes, bytes] | None:
    """Both streams to their end; None when the deadline came first or the tool said too much."""
    assert child.stdout is not None
    assert child.stderr is not None
    heard = {child.stdout.fileno(): bytearray(), child.stderr.fileno(): bytearray()}
    order = list(heard.values())
    with selectors.DefaultSelector() as selector, child.stdout, child.stderr:
        for stream in (child.stdout, child.stderr):
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0.0, until - time.monotonic()))
            if not ready or len(order[0]) > OUTPUT_LIMIT:
                return None
            for key, _ in ready:
                chunk = os.read(key.fd, 1 << 16)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif heard[key.fd] is order[0] or len(order[1]) < ERRORS_LIMIT:
                    heard[key.fd] += chunk
    return bytes(order[0]), bytes(order[1])


def _end(child: subprocess.Popen[bytes], closed: bool, until: float) -> int | None:
    """The tool's exit status; one that is still there is asked to end, then killed, and never waited for long."""
    if closed:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return child.wait(max(0.05, until - time.monotonic()))
    for word in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, word)
        with contextlib.suppress(subprocess.TimeoutExpired):
            # It was asked in time to let go of a process it may hold; its own status means nothing any more.
            child.wait(_LAST_WORDS_S)
            break
    return None
