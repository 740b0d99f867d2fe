"""The merged stacks of a job for a terminal: a tree per part that threads play, with folded rank sets on its edges.

Straight runs of frames are folded onto few lines; a line ends with a fork, a source line, or what the kernel says of the
threads whose stack ends there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..analysis.merged import Section, Seen
from ..analysis.origin import is_user
from ..analysis.tree import Node
from ..model.evidence.source import Place
from ..model.evidence.stacks import Frame, Trust
from ..model.ranks import RankSet
from ..model.words import span
from .folding import Run, fold, short_names
from .people import phrase
from .plain import clean

_STATES = {
    "R": "running", "S": "asleep", "D": "in uninterruptible sleep (state D)", "T": "stopped (state T)",
    "t": "held by a tracer (state t)", "Z": "ended, not reaped (state Z)", "X": "dead", "I": "idle",
}  # fmt: skip
_ARROW = " → "
_VALUES = 4


@dataclass(frozen=True)
class Style:
    """What to show besides frames. ``source`` has the numbered lines around a place, or the reason why there are none."""

    width: int = 80
    colour: bool = False
    locals: bool = False
    source: Mapping[Place, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Stretch:
    """A straight run of frames between two forks; ``depth`` is the depth of the first."""

    frames: tuple[Frame, ...]
    depth: int
    keys: RankSet
    ends: RankSet
    children: tuple[_Stretch, ...]


def render(section: Section, style: Style) -> str:
    """One section, ending in a newline."""
    people = phrase(one.process for one in section.seen)
    head = clean(f"{section.title} of {people}")
    lines = [_paint(head, "1", style)]
    names = short_names(one.file for seen in section.seen for one in seen.thread.stack if is_user(one))
    view = _View(section, style, names)
    lines.extend(view.lines(_stretch(section.tree, 0), ""))
    return "\n".join(lines) + "\n"


def places(section: Section) -> Iterator[Place]:
    """Where threads stand in the job's own code: what ``--source`` needs to read."""
    todo = [_stretch(section.tree, 0)]
    while todo:
        stretch = todo.pop()
        at = _standing_at(stretch)
        if at is not None:
            frame = stretch.frames[at]
            first = section.seen[next(iter(stretch.keys))]
            yield Place(first.process.ref, frame.file, frame.line)
        todo.extend(stretch.children)


def _stretch(node: Node, depth: int) -> _Stretch:
    frames, start = [], depth
    while True:
        if node.frame is not None:
            frames.append(node.frame)
            depth += 1
        if len(node.children) != 1 or node.ends:
            break
        node = node.children[0]
    return _Stretch(tuple(frames), start, node.ranks, node.ends, tuple(_stretch(one, depth) for one in node.children))


def _bare(stretch: _Stretch) -> bool:
    """Whether some thread below ends without meeting another frame of the job's own code."""
    if any(is_user(frame) for frame in stretch.frames):
        return False
    return bool(stretch.ends) or any(map(_bare, stretch.children))


def _standing_at(stretch: _Stretch) -> int | None:
    """The last own frame of a stretch, when it is the deepest own frame of some thread."""
    own = [at for at, frame in enumerate(stretch.frames) if is_user(frame)]
    if own and (stretch.ends or any(map(_bare, stretch.children))):
        return own[-1]
    return None


def _paint(text: str, colour: str, style: Style) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m" if style.colour else text


class _View:
    """Writes one section."""

    def __init__(self, section: Section, style: Style, names: dict[str, str]) -> None:
        self._section, self._style, self._names = section, style, names

    def lines(self, stretch: _Stretch, stem: str, edge: str = "") -> Iterator[str]:
        """The lines of a stretch and of all below it; ``edge`` names who took this branch."""
        forks = bool(stretch.children)
        bar = stem + ("│ " if forks else "  ")
        text = list(self._text(stretch))
        room = max(24, self._style.width - len(bar))
        wrapped = [line for piece in text for line in _wrap(piece, room)]
        if edge:
            yield edge + (wrapped.pop(0) if wrapped and len(edge) + len(wrapped[0]) <= self._style.width else "")
        yield from (bar + line for line in wrapped)
        for last, child in ((child is stretch.children[-1], child) for child in stretch.children):
            who = phrase(self._section.seen[key].process for key in child.keys)
            head = f"{stem}{'└─' if last else '├─'} {_paint(self._counted(who, child.keys), '36', self._style)}: "
            yield from self.lines(child, stem + ("   " if last else "│  "), head)

    def _counted(self, who: str, keys: RankSet) -> str:
        """Some processes have several threads of one part."""
        processes = len({self._section.seen[key].process.ref for key in keys})
        return clean(who, 60) + (f", {len(keys)} threads" if len(keys) > processes else "")

    def _text(self, stretch: _Stretch) -> Iterator[str]:
        """Frames joined by arrows; a piece ends where something is said about a frame."""
        stands = _standing_at(stretch)
        held: list[str] = []
        for run in fold(stretch.frames, self._names):
            held.append(run.text)
            said = list(self._about(stretch, run, stands))
            if said:
                yield _ARROW.join(held)
                held = []
                yield from said
        if held:
            yield _ARROW.join(held)
        if stretch.ends:
            if not stretch.frames and not stretch.depth:
                yield "no Python frames"
            told = self._state(stretch.ends)
            if told:
                yield f"· {told}"

    def _about(self, stretch: _Stretch, run: Run, stands: int | None) -> Iterator[str]:
        if run.user and self._style.locals:
            yield from self._locals(stretch.keys, stretch.depth + run.last)
        if stands is not None and run.first <= stands <= run.last:
            frame = stretch.frames[stands]
            ref = self._section.seen[next(iter(stretch.keys))].process.ref
            for line in self._style.source.get(Place(ref, frame.file, frame.line), ()):
                yield f"  {clean(line, 200)}"

    def _locals(self, keys: RankSet, depth: int) -> Iterator[str]:
        """Local variables of one frame over all who stand in it, equal values together."""
        values: dict[str, dict[str, list[int]]] = {}
        for key in keys:
            seen = self._section.seen[key]
            for local in seen.thread.locals:
                if local.depth - seen.cut == depth:
                    values.setdefault(local.name, {}).setdefault(local.value, []).append(key)
        for name, held in sorted(values.items()):
            yield f"  {clean(name)} = {self._spread(held, len(keys))}"

    def _spread(self, held: dict[str, list[int]], total: int) -> str:
        if len(held) == 1 and len(next(iter(held.values()))) == total:
            return clean(next(iter(held)), 100)
        most = sorted(held.items(), key=lambda item: -len(item[1]))
        told = [
            f"{clean(value, 60)} ({phrase(self._section.seen[key].process for key in keys)})"
            for value, keys in most[:_VALUES]
        ]
        return ", ".join(told) + (f" and {len(held) - _VALUES} other values" if len(held) > _VALUES else "")

    def _state(self, keys: RankSet) -> str:
        return state([self._section.seen[key] for key in keys])


def state(seen: list[Seen]) -> str:
    """What the kernel says of threads that stand in one place: state, where they wait, for how long."""
    tasks = [one.kernel for one in seen if one.kernel is not None]
    if not tasks:
        active = {one.thread.active for one in seen}
        words: dict[bool | None, str] = {True: "active, as the dump says", False: "idle, as the dump says"}
        return words.get(active.pop(), "") if len(active) == 1 else ""
    letters = Counter(task.state for task in tasks)
    told = ", ".join(
        _STATES.get(letter, letter) if len(letters) == 1 else f"{count} {_STATES.get(letter, letter)}"
        for letter, count in letters.most_common()
    )
    waits = Counter(task.wchan for task in tasks if task.wchan and task.state != "R")
    where = f" in {waits.most_common(1)[0][0]}" if waits else ""
    extra = "; holds the GIL" if any(one.thread.holds_gil for one in seen) else ""
    torn = any(one.thread.trust is Trust.LIKELY and one.kernel and one.kernel.state == "R" for one in seen)
    return clean(
        f"{told}{where}{_age(seen)}{_left(seen)}{extra}"
        + ("; it ran while it was read, frames may be torn" if torn else "")
    )


def _age(seen: list[Seen]) -> str:
    ages = [
        one.kernel.still_s for one in seen if one.kernel and one.kernel.still_s is not None and one.kernel.state != "R"
    ]
    if not ages:
        return ""
    low, high = span(min(ages)), span(max(ages))
    return f" for {high}" if low == high else f" for {low} to {high}"


def _left(seen: list[Seen]) -> str:
    """How long until the first call in which they wait times out."""
    ahead = [one.deadline_s for one in seen if one.deadline_s is not None and one.deadline_s > 0]
    return f"; times out in {span(min(ahead))}" if ahead else ""


def _wrap(text: str, width: int) -> Iterator[str]:
    """Break at arrows where a line would be too long; what has no arrow stays whole."""
    if text.startswith((" ", "·")):
        yield text
        return
    line = ""
    for piece in text.split(_ARROW):
        longer = f"{line}{_ARROW}{piece}" if line else piece
        if line and len(longer) > width:
            yield line + " →"
            line = piece
        else:
            line = longer
    yield line
