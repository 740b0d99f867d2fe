"""DLRover's merged stacks: one line per path, root first, each frame with the ranks in it and those that are not.

The text is ``function@file@0-3|4-7;function@file@… 1``; the stack of a line is that of the ranks in its last frame.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..model.evidence.stacks import Frame, PythonThread, Stack, Trust
from ..model.patterns import regex
from ..model.ranks import RankSet
from .building import FRAME_LIMIT
from .lines import Line
from .records import Dump, Record, read_all

NAME = "DLRover folded stacks"
MOST_RANKS = 1 << 17

_FRAME = regex(r"(?P<function>[^@;]{1,500})@(?P<file>[^@;]{0,500})@(?P<ranks>[\d,-]{1,4000})(?:\|[\d,-]{0,4000})?")
_PATH = regex(r"^[^@;\s][^@;]*@[^@;]*@[\d,-]+(?:\|[\d,-]*)?(?:;|\s+\d+\s*$)")
_PLACE = regex(r"^(.*?)(?::(\d{1,7}))?$")


def recognises(text: str) -> bool:
    """Whether a text begins with such a path."""
    return bool(_PATH.match(text))


class Reader:
    """Every line is whole in itself."""

    def feed(self, line: Line) -> Iterator[Record]:
        if not _PATH.match(line.text):
            return
        found = [_FRAME.match(part) for part in line.text.split(";")[:FRAME_LIMIT]]
        frames = [one for one in found if one is not None]
        ranks = _ranks(frames[-1]["ranks"]) if frames else RankSet()
        stack = Stack(_frame(one) for one in frames)
        for rank in ranks if len(ranks) <= MOST_RANKS else ():
            yield Dump(
                PythonThread(tid=None, stack=stack, name=None, trust=Trust.REPORTED), NAME, line.number, rank=rank
            )

    def close(self) -> Iterable[Record]:
        return ()


def _ranks(text: str) -> RankSet:
    try:
        return RankSet.parse(text.strip("-,"))
    except ValueError:
        return RankSet()


def _frame(found: re.Match[str]) -> Frame:
    place = _PLACE.match(found["file"])
    file, number = (place.group(1), int(place.group(2) or 0)) if place else (found["file"], 0)
    native = not file.endswith((".py", ".pyx")) and not file.startswith("<")
    return Frame(found["function"], "" if native else file, number, (file or "?") if native else None)


def read(text: str) -> Iterator[Record]:
    """All stacks of a text."""
    return read_all(Reader(), text)
