"""Big logs are sieved by ``grep`` first: it looks for all that our readers know at some hundred megabytes a second.

Where there is no grep, or the text comes through a pipe, the readers see every line themselves, only slower.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator

from .events import families
from .files import text_lines

# Below this size starting a process costs more than it saves.
WORTH_BYTES = 8 << 20
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
_LINE = re.compile(r"(\d+)([:-])(.*)", re.DOTALL)


def patterns() -> list[str]:
    """What to look for: the needles of all families without those that contain another one, and stacks."""
    needles = {needle for module in families() for needle in module.NEEDLES}
    short = sorted(one for one in needles if not any(other in one and other != one for other in needles))
    return [re.sub(r"([.\[\]{}()*+?^$|\\])", r"\\\1", one) for one in short] + list(_STACKS)


def sieve(path: str) -> Iterator[tuple[int, str] | None]:
    """Numbered lines worth reading, None between runs of them; raise FileNotFoundError where grep is missing."""
    grep = shutil.which("grep")
    if grep is None:
        raise FileNotFoundError("grep")
    with tempfile.NamedTemporaryFile("w", suffix=".patterns") as held:
        held.write("\n".join(patterns()) + "\n")
        held.flush()
        call = [grep, "-aEn", f"-A{AFTER}", "-f", held.name, "--", path]
        with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={"LC_ALL": "C"}) as child:
            assert child.stdout is not None
            try:
                for line in text_lines(child.stdout):
                    found = _LINE.match(line)
                    yield (int(found.group(1)), found.group(3)) if found else None
            finally:
                child.kill()
