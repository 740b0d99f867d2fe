"""Where the ranks parted, as blocks below each other: the last common call, then each side's path with its source lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..model.diagnosis import CallPath, Divergence
from ..model.evidence.source import Place
from ..model.evidence.stacks import Frame
from ..model.ranks import ranks_phrase
from .plain import clean

_MOST_FRAMES = 5


def places(parted: Divergence) -> Iterator[Place]:
    """The lines whose source would be shown."""
    for path in (*parted.sides, *((parted.common,) if parted.common else ())):
        if path.process is not None:
            yield from (Place(path.process, frame.file, frame.line) for frame in path.frames[-_MOST_FRAMES:])


def render(parted: Divergence, source: Mapping[Place, str], width: int) -> Iterator[str]:
    """Lines of at most ``width`` characters; a frame's source stands beside it where it is known."""
    if parted.common is not None:
        last = f", {_place(parted.common.frames[-1])}" if parted.common.frames else ""
        yield _cut(f"{ranks_phrase(parted.common.ranks)} made {parted.common.what} together{last}", width)
    wide = max((len(_place(frame)) for side in parted.sides for frame in side.frames[-_MOST_FRAMES:]), default=0)
    for side in parted.sides:
        yield _cut(f"{ranks_phrase(side.ranks)} then: {side.what}", width)
        for frame in side.frames[-_MOST_FRAMES:]:
            yield _cut(f"  {_place(frame):{min(wide, 36)}}  {_line(side, frame, source)}".rstrip(), width)


def _line(side: CallPath, frame: Frame, source: Mapping[Place, str]) -> str:
    if side.process is None:
        return ""
    return source.get(Place(side.process, frame.file, frame.line), "").strip()


def _place(frame: Frame) -> str:
    return f"{frame.file.rsplit('/', 1)[-1]}:{frame.line} {frame.function}"


def _cut(text: str, width: int) -> str:
    text = clean(text)
    return text if len(text) <= width else text[: width - 1] + "…"
