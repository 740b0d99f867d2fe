"""case → whether it reads like runs in which nothing is wrong: all of it, passage by passage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from ..accounts import accounts
from ..case import Case
from ..remembered import remembered
from .nearness import compare
from .table import HEALTHY, weights
from .words import words_of

# Passages overlap, so that no trouble is cut in two. Of more than these nobody asks: one would read badly by chance.
_LINES, _STEP, _MOST = 60, 30, 300
_ENOUGH = 20  # known words that one passage must have: less is no text that could be called healthy


@remembered
def trouble(case: Case) -> float | None:
    """How much its worst passage reads rather like some class than like a healthy run: below nought, rather healthy.

    Whole texts would not do, in which one bad line stands among thousands of good ones. None where nothing can be
    compared, or too much.
    """
    texts = list(islice(_passages(case), _MOST + 1))
    read = [compare(weights(), words_of(text)) for text in texts] if len(texts) <= _MOST else []
    enough = any(len(one.words) >= _ENOUGH for one in read)
    return max((_beyond(one.scores) for one in read if one.scores), default=None) if enough else None


def _beyond(scores: Mapping[str, float]) -> float:
    """How much nearer the nearest class is than a healthy run."""
    return max(score for cls, score in scores.items() if cls != HEALTHY) - scores[HEALTHY]


def _passages(case: Case) -> Iterator[str]:
    for account in accounts(case):
        lines = account.text.split("\n")
        for start in range(0, max(1, len(lines) - _STEP // 2), _STEP):
            yield "\n".join(lines[start : start + _LINES])
