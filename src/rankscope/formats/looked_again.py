"""Files called after one command and two times of day are looks at one process, whose number the command names.

``py-spy dump -p 4411, 10:00.txt`` and ``py-spy dump -p 4411, 10:05.txt``: a number alone may be that of two processes, for in
each container the first one is number 1; the rest of the name tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..model.patterns import regex
from .reading import FileEvidence

_DUMPED = regex(
    r"\b(?:py-spy|pystack|gdb|gstack|pstack|eu-stack|lldb)\b.{0,60}?(?<=[ =p])(?<![\d.])(?P<pid>\d{2,10})\b(?![:.]\d)"
)
_TIME = regex(r"(?<![\d:.])(?:[01]?\d|2[0-3])[: h_][0-5]\d(?:[: _][0-5]\d)?(?![\d:])")


def numbered(found: Sequence[FileEvidence]) -> list[FileEvidence]:
    """The same files, with the number of their process for those that show it at several times of day."""
    named = [_command(one) for one in found]
    return [
        replace(one, who=replace(one.who, pid=at[1])) if at is not None and named.count(at) > 1 else one
        for one, at in zip(found, named)
    ]


def _command(one: FileEvidence) -> tuple[str, int] | None:
    """A file's name without the time of day, and the process that its command names; None where it names either not."""
    text = one.who.text
    pid = _DUMPED.search(text) if one.who.pid is None and not one.who.ranks else None
    without = " ".join(_TIME.sub(" ", text).split())
    return (without, int(pid["pid"])) if pid is not None and _TIME.search(text, pid.end()) else None
