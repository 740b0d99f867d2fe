"""Public threads whose root cause was settled, by the words of their evidence: one that is much like a case is worth reading."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from .table import Weights

FILE = Path(__file__).with_name("threads.tsv")
_ALIKE = 0.45  # below this, two threads of one class have little in common but the class


@dataclass(frozen=True)
class Thread:
    """``words`` are the rarest of its evidence."""

    link: str
    cls: str
    words: tuple[str, ...]


@functools.cache
def threads() -> tuple[Thread, ...]:
    """All of this release."""
    return parse(FILE.read_text(encoding="ascii"))


def parse(text: str) -> tuple[Thread, ...]:
    """The threads in a text, one a line; lines that begin with # are for people."""
    rows = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return tuple(Thread(link, cls, tuple(words)) for link, cls, *words in rows)


def most_alike(known: Iterable[Thread], table: Weights, cls: str, said: Collection[str]) -> Thread | None:
    """The thread of a class that shares most of its rare words, None where none shares enough."""
    shares = [(_share(thread, table, said), thread.link, thread) for thread in known if thread.cls == cls]
    share, _, thread = max(shares, default=(0.0, "", None))
    return thread if share >= _ALIKE else None


def _share(thread: Thread, table: Weights, said: Collection[str]) -> float:
    """How much of a thread's words are there: the cosine over rarities, as if the case had no others."""
    rarities = {word: table.rarity(word) ** 2 for word in thread.words if word in table.words}
    shared = sum(rarity for word, rarity in rarities.items() if word in said)
    return math.sqrt(shared / sum(rarities.values())) if rarities and shared else 0.0
