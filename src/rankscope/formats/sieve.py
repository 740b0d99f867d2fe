"""Big logs are sieved by ``grep`` first: it looks for all that our readers know at some hundred megabytes a second.

Where there is no grep the readers see every line themselves, only slower.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from typing import IO

from ..model.patterns import regex
from .events import families
from .files import text_lines
from .kept import Ends

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


def patterns() -> list[str]:
    """What to look for: the needles of all families without those that contain another one, and stacks."""
    needles = {needle for module in families() for needle in module.NEEDLES}
    short = sorted(one for one in needles if not any(other in one and other != one for other in needles))
    return [re.sub(r"([.\[\]{}()*+?^$|\\])", r"\\\1", one) for one in short] + list(_STACKS)


def sieve(stream: IO[bytes], ends: Ends) -> Iterator[tuple[int, str] | None] | None:
    """Numbered lines worth reading, None between runs of them; None in all where there is no grep.

    All that goes by is shown to ``ends``.
    """
    grep = shutil.which("grep")
    return None if grep is None else _through(grep, stream, ends)


def _through(grep: str, stream: IO[bytes], ends: Ends) -> Iterator[tuple[int, str] | None]:
    with tempfile.NamedTemporaryFile("w", suffix=".patterns") as held:
        held.write("\n".join(patterns()) + "\n")
        held.flush()
        call = [grep, "-aEn", f"-A{AFTER}", "-f", held.name]
        pipe = subprocess.PIPE
        with subprocess.Popen(call, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env={"LC_ALL": "C"}) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            feeder = threading.Thread(target=_feed, args=(stream, child.stdin, ends), daemon=True)
            feeder.start()
            try:
                for line in text_lines(child.stdout):
                    found = _LINE.match(line)
                    yield (int(found.group(1)), found.group(3)) if found else None
            finally:
                child.kill()
                feeder.join()


def _feed(stream: IO[bytes], into: IO[bytes], ends: Ends) -> None:
    """Give grep the whole stream; it closes its end early only when nobody reads on."""
    try:
        while piece := stream.read(1 << 20):
            ends.see(piece)
            into.write(piece)
        into.close()
    except BrokenPipeError:
        pass
