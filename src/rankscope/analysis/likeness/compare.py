"""case → the class whose known cases it reads like, and the words that say so."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..case import Case
from .table import HEALTHY, Weights, weights
from .threads import most_alike, threads
from .words import words

# Below this no class is near: a text of another world. Cross-validated by tools/learn.py, as the rest of the table.
_NEAR = -0.7
_FEW = 8  # fewer known words are no text to compare
_TELLING = 6


@dataclass(frozen=True)
class Likeness:
    """``cls`` and the next class, the ``words`` that speak most for it, from how many ``cases`` this was learned, and the link
    of the public ``thread`` that is most alike."""

    cls: str
    next: str
    words: tuple[str, ...]
    cases: int
    thread: str = ""


def likeness(case: Case) -> Likeness | None:
    """What a case reads like; None where that is a healthy run, or nothing known.

    >>> likeness(case)                      # doctest: +SKIP
    Likeness(cls='gil-deadlock', next='lock-order-deadlock', words=('take_gil', 'acquire', …), cases=34)
    """
    said = words(case)
    found = nearest(weights(), said)
    thread = most_alike(threads(), weights(), found.cls, said) if found else None
    return replace(found, thread=thread.link) if found and thread else found


def nearest(table: Weights, said: Iterable[str]) -> Likeness | None:
    """What some words read like by a table: each adds its weight, and a long text counts no more than a short one."""
    known = [(word, *table.words[word]) for word in said if word in table.words]
    length = math.sqrt(sum(rarity * rarity for _, rarity, _ in known))
    if len(known) < _FEW:
        return None
    scores = list(table.rest)
    for _, _, adds in known:
        for at, number in adds:
            scores[at] += number / length
    first, second = heapq.nlargest(2, range(len(scores)), key=scores.__getitem__)
    if table.classes[first] == HEALTHY or scores[first] < _NEAR:
        return None
    speak = ((dict(adds).get(first, 0.0), word) for word, _, adds in known)
    telling = tuple(word for number, word in heapq.nlargest(_TELLING, speak) if number > 0)
    return Likeness(table.classes[first], table.classes[second], telling, table.cases[first])
