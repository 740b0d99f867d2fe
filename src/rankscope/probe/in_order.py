"""What several children say at the same time, as the lines of one look: first all of one sweep, then all of the next."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

_SWEEP, _SLEPT = '{"is":"sweep"', '{"is":"slept"'  # how the lines of ``wire`` begin


@dataclass
class _Held:
    """What was said of a sweep that has not begun for everybody."""

    begins: list[tuple[int, str]] = field(default_factory=list)
    others: list[str] = field(default_factory=list)


class InOrder:
    """Holds what is said of a sweep until each child has come to it; no child goes back to an earlier one."""

    def __init__(self, children: int) -> None:
        self._at = [-1] * children  # the sweep that each was last heard of
        self._told = -1  # the last one that has begun for all
        self._held: dict[int, _Held] = {}

    def take(self, child: int, sweep: int, begins: bool, lines: str) -> Iterator[str]:
        """What can be told now that a child has said this, which is how a sweep ``begins`` for it or something of it."""
        self._at[child] = sweep
        if sweep <= self._told:
            yield lines
            return
        held = self._held.setdefault(sweep, _Held())
        if begins:
            held.begins.append((child, lines))
        else:
            held.others.append(lines)
        while self._told < min(self._at):
            self._told += 1
            yield from self._tell(self._told)

    def rest(self) -> Iterator[str]:
        """All that is left where nobody will say more; of a sweep that has not begun for the first child nothing is of use."""
        for sweep in sorted(self._held):
            if any(child == 0 for child, _ in self._held[sweep].begins):
                yield from self._tell(sweep)

    def _tell(self, sweep: int) -> Iterator[str]:
        held = self._held.pop(sweep, _Held())
        yield _one_beginning([lines for _, lines in sorted(held.begins)])
        yield from held.others


def _one_beginning(said: list[str]) -> str:
    """How a sweep begins for all: when it did for the first child, who is there for any of them, and the time in which all
    slept."""
    lines = [(child, line) for child, lines in enumerate(said) for line in lines.splitlines(keepends=True)]
    slept = [line for _, line in lines if line.startswith(_SLEPT)]
    kept = [line for child, line in lines if not line.startswith(_SLEPT if child == 0 else (_SLEPT, _SWEEP))]
    if slept and len(slept) == len(said):
        kept.append(min(slept, key=lambda line: float(json.loads(line)["seconds"])))
    return "".join(kept)
