"""case → how much it reads like the known cases of each class, and the words that say so."""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from ..case import Case
from ..remembered import remembered
from .table import HEALTHY, Weights, weights
from .words import STEM, words

# Below this no class is near: a text of another world. Cross-validated by tools/learn.py, as the rest of the table.
_NEAR = -0.7
_FEW = 8  # fewer known words are no text to compare
_GUESS = 16  # and from fewer than these a guess is as often wrong as right
_CLEAR = 0.1  # a guess must be this much nearer than healthy runs
_TELLING = 6


@dataclass(frozen=True)
class Likeness:
    """``scores`` by class: greater is nearer, none where there is too little to compare. ``words`` are those known to the
    table, beginnings left out."""

    scores: Mapping[str, float] = field(default_factory=dict)
    words: Collection[str] = ()

    @property
    def nearest(self) -> str | None:
        """The class that is nearest; None where that is a healthy run, where nothing is near, or where little is said."""
        least = max(_NEAR, self.scores.get(HEALTHY, _NEAR) + _CLEAR)
        best = max(self.scores, key=self.scores.__getitem__, default=HEALTHY)
        return None if best == HEALTHY or self.scores[best] < least or len(self.words) < _GUESS else best

    def next_to(self, cls: str) -> str:
        """The class that is nearest but for one."""
        return max((name for name in self.scores if name != cls), key=self.scores.__getitem__)


@remembered
def likeness(case: Case) -> Likeness:
    """What a case reads like.

    >>> likeness(case).nearest              # doctest: +SKIP
    'gil-deadlock'
    """
    return compare(weights(), words(case))


def compare(table: Weights, said: Collection[str]) -> Likeness:
    """What some words read like by a table: each adds its weight, and a long text counts no more than a short one."""
    known = sorted(word for word in said if word in table.words)
    whole = frozenset(word for word in known if not word.endswith(STEM))
    if len(whole) < _FEW:
        return Likeness()
    length = math.sqrt(sum(table.rarity(word) ** 2 for word in known))
    scores = list(table.rest)
    for word in known:
        for at, number in table.adds(word):
            scores[at] += number / length
    return Likeness(dict(zip(table.classes, scores)), whole)


def telling(table: Weights, said: Collection[str], cls: str) -> tuple[str, ...]:
    """The words, all known to the table, that speak most for a class."""
    at = table.classes.index(cls)
    speak = ((dict(table.adds(word)).get(at, 0.0), word) for word in said)
    return tuple(word for number, word in heapq.nlargest(_TELLING, speak) if number > 0)
