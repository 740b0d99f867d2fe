"""What was learned: how much each word speaks for each class, as ``tools/learn.py`` wrote it down.

A linear model with one row of weights per class (a support vector machine, one class against the rest) over words weighed
by their rarity. The file is text: ``classes``, ``cases`` and ``rest`` (what stands before any word), then a word a line.
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
    """``words[word]`` is its rarity and, by class, what it adds; ``cases`` how many of each class were learned from."""

    classes: tuple[str, ...]
    cases: tuple[int, ...]
    rest: tuple[float, ...]
    words: Mapping[str, tuple[float, tuple[tuple[int, float], ...]]]


@functools.cache
def weights() -> Weights:
    """The table of this release."""
    return parse(FILE.read_text(encoding="ascii"))


def parse(text: str) -> Weights:
    """The table in a text; lines that begin with # are for people."""
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    head = {name: row for name, *row in lines[:3]}
    rest = tuple(map(float, head["rest"]))
    return Weights(tuple(head["classes"]), tuple(map(int, head["cases"])), rest, dict(map(_word, lines[3:])))


def _word(row: list[str]) -> tuple[str, tuple[float, tuple[tuple[int, float], ...]]]:
    adds = (pair.split(":") for pair in row[2:])
    return row[0], (int(row[1]) / SCALE, tuple((int(at), int(number) / SCALE) for at, number in adds))
