"""Public threads whose root cause was settled, by the words of their evidence: one that is much like a case is worth reading.

Somebody may also have the very trouble that a thread is about, with the same functions on the stack and the same messages. What
gives it away are words that no other known case has, which the table of weights does not know.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from .table import Weights
from .words import says_something

FILE = Path(__file__).with_name("threads.tsv")
_ALIKE = 0.45  # below this, two threads of one class have little in common but the class
# Evidence of the same trouble, told by somebody else, shares so many words of a thread's own, and is so near (docs/adr/0007).
_MARKS, _SAME = 2, 0.5
# How rare a word of one case is among all that was learned from, by the measure of the table (ln(cases / 2) + 1).
_ONCE = 10.3
# A text with more words that nobody knows is longer than what people paste.
_MOST_UNKNOWN = 400


@dataclass(frozen=True)
class Thread:
    """``words`` are the rarest of its evidence."""

    link: str
    cls: str
    words: tuple[str, ...]


@functools.cache
def text() -> str:
    """All of this release, a line each."""
    return FILE.read_text(encoding="ascii")


@functools.cache
def threads() -> tuple[Thread, ...]:
    """All of this release."""
    return parse(text())


def parse(lines: str) -> tuple[Thread, ...]:
    """The threads in a text, one a line; lines that begin with # are for people."""
    rows = (line.split() for line in lines.splitlines() if line and not line.startswith("#"))
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


def the_same(lines: str, table: Weights, said: Collection[str]) -> Thread | None:
    """The thread that tells of the same trouble as these words, None where none is that near.

    ``lines`` are searched as they are: to read them all takes longer than all else that is done with a case.
    """
    marks: dict[str, int] = {}
    unknown = [word for word in said if word not in table.words and says_something(word)]
    for word in unknown if len(unknown) <= _MOST_UNKNOWN else ():
        at = lines.find(f" {word} ")
        if at >= 0:
            line = lines[lines.rfind("\n", 0, at) + 1 : lines.find("\n", at)]
            marks[line] = marks.get(line, 0) + 1
    near = [
        (_nearness(thread, table, said), thread)
        for line, count in marks.items()
        if count >= _MARKS
        for thread in parse(line)
    ]
    nearness, thread = max(near, key=lambda one: one[0], default=(0.0, None))
    return thread if nearness >= _SAME else None


def _nearness(thread: Thread, table: Weights, said: Collection[str]) -> float:
    """The cosine of a thread and a case over the rarities of their words; of words that nobody knows, the thread's count."""
    its = {word: _rarity(table, word) ** 2 for word in thread.words}
    case = sum(table.rarity(word) ** 2 for word in said if word in table.words and says_something(word))
    shared = sum(rarity for word, rarity in its.items() if word in said)
    marks = sum(rarity for word, rarity in its.items() if word in said and word not in table.words)
    return shared / math.sqrt(sum(its.values()) * (case + marks)) if shared else 0.0


def _rarity(table: Weights, word: str) -> float:
    return table.rarity(word) if word in table.words else _ONCE
