"""What was learned: how much each word speaks for each class, as ``tools/learn.py`` wrote it down.

A linear model with one row of weights per class (a multinomial logistic regression) over words weighed by their rarity. The
file is text: ``classes``, ``cases`` and ``rest`` (what stands before any word), then a word a line.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("weights.tsv")
SCALE = 10  # numbers are kept as tenths
HEALTHY = "healthy"


@dataclass(frozen=True)
class Weights:
    """``cases`` is how many of each class were learned from. ``words`` are kept as they stand in the file, since a case has but
    a few hundred of them."""

    classes: tuple[str, ...]
    cases: tuple[int, ...]
    rest: tuple[float, ...]
    words: Mapping[str, str]

    def rarity(self, word: str) -> float:
        """How much it tells that a case has this word."""
        return _row(self.words[word])[0]

    def adds(self, word: str) -> tuple[tuple[int, float], ...]:
        """The classes for which a word speaks, and how much: less than nothing where it speaks against."""
        return _row(self.words[word])[1]


@functools.lru_cache(maxsize=1 << 14)
def _row(text: str) -> tuple[float, tuple[tuple[int, float], ...]]:
    rarity, *adds = text.split()
    pairs = (pair.split(":") for pair in adds)
    return int(rarity) / SCALE, tuple((int(at), int(number) / SCALE) for at, number in pairs)


@functools.cache
def weights() -> Weights:
    """The table of this release."""
    return parse(FILE.read_text(encoding="ascii"))


def parse(text: str) -> Weights:
    """The table in a text; lines that begin with # are for people."""
    lines = [line.split(" ", 1) for line in text.splitlines() if line and not line.startswith("#")]
    classes, cases, rest = (numbers.split() for _, numbers in lines[:3])
    return Weights(tuple(classes), tuple(map(int, cases)), tuple(map(float, rest)), dict(lines[3:]))
