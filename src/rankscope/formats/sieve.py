"""Big logs are sieved by ``grep`` first: it looks for all that our readers know at some hundred megabytes a second.

Where there is no grep, or it cannot be started, the readers see every line themselves, only slower. Nothing is written to disk,
which may be full: that is why some jobs hang.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from typing import IO

from ..model.patterns import regex
from .files import Stop
from .kept import Ends
from .lines import LINE_LIMIT
from .text import all_needles
from .thinning import Thinning

# Lines after a hit that are kept: the source below a frame, and the exception below that.
AFTER = 3
# Frames and heads of stacks, as extended regular expressions; everything else is a fixed word of a family.
_STACKS = (
    r"\.pyx?:[0-9]+\)$",
    r"\.so[.0-9]*\)$",
    r"^ *#[0-9]+ +(0x|[^ ]+ \()",
    r"Thread (0x)?[0-9a-fA-F]+",
    "most recent call",
    r"^Process [0-9]+: ",
)
_LINE = regex(r"(\d+)([:-])(.*)", re.DOTALL)
# So long the thread that feeds grep has to end. One that waits for a pipe which stays open ends with us.
_LEFT_S = 1.0
_BLOCK = 64 << 10
# A line, and whether a word was found in it; if not, it stands below one of those.
Numbered = tuple[int, str, bool]


def patterns() -> list[str]:
    """What to look for: the needles of all families without those that contain another one, and stacks."""
    return [re.sub(r"([.\[\]{}()*+?^$|\\])", r"\\\1", one) for one in all_needles()] + list(_STACKS)


class Unfinished(Exception):
    """grep ended before the text did."""


def sieve(
    stream: io.BufferedReader, ends: Ends, thinning: Thinning, stop: Stop | None = None
) -> Iterator[Numbered | None] | None:
    """Numbered lines worth reading, None between runs of them; None in all where there is no grep.

    All that goes by is shown to ``ends``; ``thinning`` leaves out what it knows. Raises Unfinished where grep gives up. With
    ``stop``, Ctrl-C ends the stream where it is.
    """
    grep = shutil.which("grep")
    if grep is None:
        return None
    # Patterns by lines are one argument (grep(1), -e): some kilobytes, where the kernel takes 128 (execve(2)).
    call = [grep, "-aEn", f"-A{AFTER}", "-e", "\n".join(patterns())]
    pipe = subprocess.PIPE
    try:
        # In a session of its own no Ctrl-C of the terminal ends it, but we do.
        child = subprocess.Popen(
            call, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env={"LC_ALL": "C"}, start_new_session=True
        )
    except OSError:  # no room for one more process
        return None
    return _through(child, stream, ends, thinning, stop)


def _through(
    child: subprocess.Popen[bytes], stream: io.BufferedReader, ends: Ends, thinning: Thinning, stop: Stop | None
) -> Iterator[Numbered | None]:
    assert child.stdin is not None
    assert child.stdout is not None
    enough = threading.Event()
    feeder = threading.Thread(target=_feed, args=(stream, child.stdin, ends, enough), daemon=True)
    feeder.start()
    try:
        try:
            yield from _found(child.stdout, thinning)
        except KeyboardInterrupt:
            if stop is None:
                raise
            stop.press()
            _end_of(child.stdin)
            next(child.stdout, b"")  # the line in which it came may be torn
            yield None
            yield from _found(child.stdout, thinning)
        if child.wait() > 1 or child.returncode < 0:  # 1: no line matched (grep(1))
            raise Unfinished(f"grep, which sieves large texts, ended with status {child.returncode}")
    finally:
        enough.set()
        child.kill()
        child.wait()
        feeder.join(_LEFT_S)
        child.stdout.close()


def _found(out: IO[bytes], thinning: Thinning) -> Iterator[Numbered | None]:
    for line in thinning.lines(_blocks(out)):
        yield _numbered(line[:LINE_LIMIT].decode("utf-8", "replace"))


def _numbered(line: str) -> Numbered | None:
    found = _LINE.match(line)
    return (int(found.group(1)), found.group(3), found.group(2) == ":") if found else None


def _blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """What comes through a pipe, cut where a line ends."""
    begun = b""
    while piece := stream.read1(_BLOCK):  # type: ignore[attr-defined]
        at = piece.rfind(b"\n") + 1
        if at:
            yield begun + piece[:at]
            begun = piece[at:]
        else:
            begun += piece
    if begun:
        yield begun


def _end_of(into: IO[bytes]) -> None:
    """What grep reads ends here. Another thread may be about to write, so that its descriptor has to stay one."""
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(nowhere, into.fileno(), inheritable=False)
    os.close(nowhere)


def _feed(stream: io.BufferedReader, into: IO[bytes], ends: Ends, enough: threading.Event) -> None:
    """Give grep the whole stream; it closes its end early only when nobody reads on."""
    with contextlib.suppress(BrokenPipeError), into:
        for piece in _shortened(stream, ends, enough):
            into.write(piece)
            into.flush()  # a slow pipe may bring nothing for long


def _shortened(stream: io.BufferedReader, ends: Ends, enough: threading.Event) -> Iterator[bytes]:
    """The stream without most of what is beyond the limit of a line: grep holds a line in memory, however long it is."""
    length = 0  # of the line that is not at its end yet
    while piece := stream.read1(1 << 20):
        if enough.is_set():
            return
        ends.see(piece)
        if length > LINE_LIMIT:
            at = piece.find(b"\n")
            if at < 0:
                continue
            piece = piece[at:]
        at = piece.rfind(b"\n")
        length = length + len(piece) if at < 0 else len(piece) - at - 1
        yield piece
