"""DLRover's merged stacks: one line per path, root first, each frame with the ranks in it and those that are not.

The text is ``function@file@0-3|4-7;function@file@… 1``; the stack of a line is that of the ranks in its last frame. A line that
names more ranks than any job has is said, and left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..model.evidence.stacks import Frame, PythonThread, Stack, Trust
from ..model.gap import Gap, Why
from ..model.patterns import regex
from ..model.ranks import MOST_IN_A_JOB, RankSet
from ..model.words import counted
from .building import FRAME_LIMIT
from .lines import Line
from .records import Dump, Record, read_all

NAME = "DLRover folded stacks"

_FRAME = regex(r"(?P<function>[^@;]{1,500})@(?P<file>[^@;]{0,500})@(?P<ranks>[\d,-]+)(?:\|[\d,-]*)?")
_PATH = regex(r"^[^@;\s][^@;]*@[^@;]*@[\d,-]+(?:\|[\d,-]*)?(?:;|\s+\d+\s*$)")
_PLACE = regex(r"^(.*?)(?::(\d{1,7}))?$")


class Reader:
    """Every line is whole in itself."""

    busy = False
    idle = True

    def __init__(self) -> None:
        self._odd = 0

    def feed(self, line: Line) -> Iterator[Record]:
        if not _PATH.match(line.text):
            return
        found = [_FRAME.match(part) for part in line.text.split(";")[:FRAME_LIMIT]]
        frames = [one for one in found if one is not None]
        ranks = _ranks(frames[-1]["ranks"]) if frames else RankSet()
        if ranks is None:
            self._odd += 1
        elif ranks:
            thread = PythonThread(tid=None, stack=Stack(_frame(one) for one in frames), name=None, trust=Trust.REPORTED)
            yield Dump(thread, NAME, line.number, ranks=ranks)

    def close(self) -> Iterable[Record]:
        if self._odd:
            detail = f"{counted(self._odd, 'folded stack')} of ranks that no job has (at most {MOST_IN_A_JOB}) left out"
            yield Gap("", Why.SKIPPED, detail)
        self._odd = 0


def _ranks(text: str) -> RankSet | None:
    """The ranks of a frame, none or more; None where no job has them."""
    try:
        found = RankSet.parse(text.strip("-,"))
    except ValueError:
        return None
    return found if len(found) <= MOST_IN_A_JOB else None


def _frame(found: re.Match[str]) -> Frame:
    place = _PLACE.match(found["file"])
    file, number = (place.group(1), int(place.group(2) or 0)) if place else (found["file"], 0)
    native = not file.endswith((".py", ".pyx")) and not file.startswith("<")
    return Frame(found["function"], "" if native else file, number, (file or "?") if native else None)


def hears(text: str) -> bool:
    """Whether a line means anything to an idle reader."""
    return _PATH.match(text) is not None


def read(text: str) -> Iterator[Record]:
    """All stacks of a text."""
    return read_all(Reader(), text)
