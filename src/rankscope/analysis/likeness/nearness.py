"""case → how probable each class is by the words of the known cases, and the words that say so."""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..case import Case
from ..remembered import remembered
from . import threads
from .table import HEALTHY, Weights, weights
from .words import by_account, says_something

ENOUGH = 20  # known words that a text must have: less is none that could be called healthy, or sick
# How probable a healthy run must be by what one subject says, and how improbable by all that the others say. Chosen by known
# sick cases beside healthy ones, and by healthy ones of several files.
_WELL_ALONE, _OUT_OF_QUESTION = 0.4, 0.03
_FEW = 8  # fewer known words are no text to compare
_GUESS = 10  # and nothing is guessed from fewer than these (docs/adr/0007)
# Nothing is guessed where a healthy run is more probable than this (docs/adr/0007).
_WELL = 0.14
# From how many known words on a class must be how probable; a text to which nothing is near is of another world. Of what is
# said in few words, a class that is less probable was right in one of three. Chosen by known cases that were left out.
_NEAR = ((26, 0.1), (14, 0.2), (_GUESS, 0.35))
_TELLING = 6
_OF_THREAD = (
    0.9  # how probable the class of a thread is that tells of the same trouble: of other authors' words all were right
)


@dataclass(frozen=True)
class Likeness:
    """``scores`` by class: the logarithm of how probable it is, none where there is too little to compare. ``words`` are
    those known to the table that say something to a reader; ``thread`` is a known one that tells of the same trouble."""

    scores: Mapping[str, float] = field(default_factory=dict)
    words: Collection[str] = ()
    thread: threads.Thread | None = None

    @property
    def healthy(self) -> float:
        """How probable a healthy run is; nothing can be said against it where there is too little to compare."""
        return math.exp(self.scores.get(HEALTHY, 0.0))

    @property
    def nearest(self) -> str | None:
        """The class that is most probable; None where it may be a healthy run, where nothing is near, or where little is said."""
        if self.healthy > _WELL or len(self.words) < _GUESS:
            return None
        best = self.next_to(HEALTHY)
        near = next(near for known, near in _NEAR if len(self.words) >= known)
        return best if math.exp(self.scores[best]) >= near else None

    def next_to(self, cls: str) -> str:
        """The class that is most probable but for one."""
        return max((name for name in self.scores if name != cls), key=self.scores.__getitem__)

    def ranking(self) -> tuple[tuple[str, float], ...]:
        """Every class with its probability (0…1), the most probable first."""
        ordered = sorted(self.scores.items(), key=lambda item: -item[1])
        return tuple((name, math.exp(score)) for name, score in ordered)


@remembered
def likeness(case: Case) -> Likeness:
    """What a case reads like.

    >>> likeness(case).nearest              # doctest: +SKIP
    'gil-deadlock'
    """
    said = _words_but(case, set_aside(case))
    return recognised(compare(weights(), said), threads.the_same(threads.text(), weights(), said))


def recognised(alike: Likeness, thread: threads.Thread | None) -> Likeness:
    """A likeness where a known thread tells of the same trouble: its class is nearly sure, and the others share the rest."""
    if thread is None or thread.cls not in alike.scores:
        return alike
    scores = {
        cls: math.log((1 - _OF_THREAD) * math.exp(score) + (_OF_THREAD if cls == thread.cls else 0.0))
        for cls, score in alike.scores.items()
    }
    return replace(alike, scores=scores, thread=thread)


@remembered
def set_aside(case: Case) -> frozenset[str]:
    """The labels of subjects that read well by themselves, which says nothing against what another one tells.

    None of them, unless the others together are a text that no healthy run would write: what is a little odd in one file is
    explained by the rest of a healthy run.
    """
    good = frozenset(one.label for one, said in by_account(case) if _reads_so(said, _WELL_ALONE, 1.0))
    return good if _reads_so(_words_but(case, good), 0.0, _OUT_OF_QUESTION) else frozenset()


def _words_but(case: Case, aside: Collection[str]) -> frozenset[str]:
    return frozenset().union(*(said for one, said in by_account(case) if one.label not in aside))


def _reads_so(said: Collection[str], least: float, most: float) -> bool:
    """Whether it is a text, and so probably that of a healthy run."""
    alone = compare(weights(), said)
    return len(alone.words) >= ENOUGH and least <= alone.healthy <= most


def compare(table: Weights, said: Collection[str]) -> Likeness:
    """What some words read like by a table: each adds its weight, and a long text counts no more than a short one."""
    known = sorted(word for word in said if word in table.words)
    whole = frozenset(filter(says_something, known))
    if len(whole) < _FEW:
        return Likeness()
    length = math.sqrt(sum(table.rarity(word) ** 2 for word in known))
    scores = list(table.rest)
    for word in known:
        for at, number in table.adds(word):
            scores[at] += number / length
    return Likeness(dict(zip(table.classes, _probable(scores))), whole)


def _probable(scores: Sequence[float]) -> Sequence[float]:
    """Scores as logarithms of probabilities, which add up to one."""
    best = max(scores)
    whole = best + math.log(sum(math.exp(score - best) for score in scores))
    return [score - whole for score in scores]


def telling(table: Weights, said: Collection[str], cls: str) -> tuple[str, ...]:
    """The words, all known to the table, that speak most for a class."""
    at = table.classes.index(cls)
    speak = ((dict(table.adds(word)).get(at, 0.0), word) for word in said)
    return tuple(word for number, word in heapq.nlargest(_TELLING, speak) if number > 0)
