"""Searching one text for many hundred patterns: first for the words that a pattern cannot do without.

Python's own parser of patterns tells these words. Asking it takes as long as all the rest of judging a short text, so that its
answers for the patterns of this release lie beside this file. Where none of the words is in a text, the pattern need not even
be compiled; where they are, a pattern that stays within a line is searched for in their lines alone. The answer is that of
``re`` in all cases: a pattern of which nothing is known is searched for as it is.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

# Python's own parser of patterns; each kind of part has a ``name``.
parser: Any = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
FLAGS = re.IGNORECASE | re.MULTILINE
# The letters beyond ASCII that equal one of ASCII where case does not matter, as ``re`` sees it.
_FOLDED = str.maketrans({"\u0130": "i", "\u0131": "i", "\u017f": "s", "\u212a": "k"})
_MANY = 64  # more words than this to choose from are no help
_GRAM = 3

FILE = Path(__file__).with_name("needles.json")

Words = tuple[str, ...]
Known = tuple[bool, tuple[Words, ...]]  # whether it stays within a line, and what it cannot do without


def fold(text: str) -> str:
    """A text whose words are found whatever their case, each letter at its place."""
    return text.lower() if text.isascii() else text.translate(_FOLDED).lower()


class Haystack:
    """A text in which many patterns are looked for."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._known: dict[str, bool] = {}

    def search(self, pattern: str) -> re.Match[str] | None:
        """What ``re`` finds first, where case does not matter and ^ and $ are lines."""
        return next(self.each(pattern), None)

    def each(self, pattern: str) -> Iterator[re.Match[str]]:
        """What ``re`` finds one after the other."""
        there = []
        for words in needed(pattern):
            there.append(tuple(filter(self._has, words)))
            if not there[-1]:
                return
        if there and stays_in_line(pattern):
            yield from self._each_in_lines(pattern, sorted(there, key=_telling, reverse=True))
        else:
            yield from compiled(pattern).finditer(self.text)

    def _each_in_lines(self, pattern: str, there: list[Words]) -> Iterator[re.Match[str]]:
        """The matches in lines that have all that is needed."""
        first, *others = there
        for start, end in self._lines_with(first):
            whole = all(any(self._folded.find(word, start, end) >= 0 for word in words) for words in others)
            if whole:
                yield from compiled(pattern).finditer(self.text, start, end)

    def _lines_with(self, words: Iterable[str]) -> list[tuple[int, int]]:
        """Where the lines begin and end that have one of these words, in order."""
        lines = set()
        for word in words:
            at = self._folded.find(word)
            while at >= 0:
                end = self._folded.find("\n", at)
                end = len(self.text) if end < 0 else end
                lines.add((self._folded.rfind("\n", 0, at) + 1, end))
                at = self._folded.find(word, end)
        return sorted(lines)

    def _has(self, word: str) -> bool:
        if word not in self._known:
            self._known[word] = _spelt_of(word, self.grams) and word in self._folded
        return self._known[word]

    @functools.cached_property
    def _folded(self) -> str:
        return fold(self.text)

    @functools.cached_property
    def grams(self) -> frozenset[str]:
        """All that three letters in a row say here: most words that are not there are known by it at once."""
        folded = self._folded
        return frozenset(map("".join, zip(folded, folded[1:], folded[2:])))


def possible(pattern: str, grams: frozenset[str]) -> bool:
    """Whether any of the texts of which these are the ``grams`` may have what a pattern cannot do without."""
    return all(any(_spelt_of(word, grams) for word in words) for words in needed(pattern))


def _spelt_of(word: str, grams: frozenset[str]) -> bool:
    return all(word[at : at + _GRAM] in grams for at in range(len(word) - _GRAM + 1))


@functools.lru_cache(maxsize=4096)
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern as rules write it."""
    return re.compile(spelt(pattern), FLAGS)


def spelt(pattern: str) -> str:
    """A pattern in which the names of calls are written with and without lines between their words."""
    for words in ("all_?reduce", "all_?gather", "all_?to_?all", "reduce_?scatter"):
        pattern = pattern.replace(words, words.replace("_?", "[-_ ]?"))
    return pattern


def needed(pattern: str) -> tuple[Words, ...]:
    """What a pattern of rules cannot be found without: one word of each of these."""
    return _known(pattern)[1]


def stays_in_line(pattern: str) -> bool:
    """Whether a pattern takes, and looks at, nothing but what stands in one line."""
    return _known(pattern)[0]


@functools.lru_cache(maxsize=4096)
def _known(pattern: str) -> Known:
    """What is known of a pattern, from the table or, of one that is not there, from the parser."""
    told = _table().get(key(pattern))
    return (told[0], tuple(map(tuple, told[1]))) if told else parsed(pattern)


@functools.cache
def _table() -> Mapping[str, Any]:
    """The patterns of this release by their keys."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="ascii"))
    return found


def key(pattern: str) -> str:
    """By what the table knows a pattern: one that was changed since is not found there."""
    return hashlib.blake2b(pattern.encode(), digest_size=8).hexdigest()


def parsed(pattern: str) -> Known:
    """What Python's parser tells of a pattern."""
    tree = parser.parse(spelt(pattern), FLAGS)
    in_line = not tree.state.flags & re.DOTALL and all(_in_line(*part) for part in tree)
    return in_line, tuple(words for words in _words(tree) if min(map(len, words)) > 1)


def _words(sequence: Iterable[tuple[Any, Any]]) -> Iterator[Words]:
    """Of parts in a row: for each that cannot be left out the words, one of which must be there."""
    run = ""
    for kind, value in sequence:
        if kind.name == "LITERAL" and value < 128:
            run += chr(value).lower()
        elif kind.name not in _NO_WIDTH:  # letters beside such a part are neighbours
            if run:
                yield (run,)
            run = ""
            yield from _words_within(kind.name, value)
    if run:
        yield (run,)


def _words_within(kind: str, value: Any) -> Iterator[Words]:
    """The words of a part that is more than a letter."""
    if kind == "SUBPATTERN" or (kind in _REPEATS and value[0] > 0):
        yield from _words(value[-1])
    elif kind == "BRANCH":
        best = [max(_words(each), key=_telling, default=()) for each in value[1]]
        union = tuple(dict.fromkeys(word for words in best for word in words))
        if all(best) and len(union) <= _MANY:
            yield union


def _telling(words: Words) -> tuple[int, int]:
    """How rarely such words will be met."""
    return min(map(len, words)), -len(words)


def _in_line(kind: Any, value: Any) -> bool:
    """Whether a part of a pattern stays in one line."""
    if kind.name in ("LITERAL", "NOT_LITERAL"):
        return bool((value == _NEWLINE) == (kind.name == "NOT_LITERAL"))
    if kind.name == "IN":
        return not _takes_newline(value)
    if kind.name == "AT":
        return value.name not in ("AT_BEGINNING_STRING", "AT_END_STRING")
    if kind.name == "SUBPATTERN":
        _, added, taken, inner = value
        return not (added & re.DOTALL or taken & re.MULTILINE) and all(_in_line(*part) for part in inner)
    if kind.name == "BRANCH":
        return all(_in_line(*part) for each in value[1] for part in each)
    if kind.name in _REPEATS or kind.name in ("ASSERT", "ASSERT_NOT"):
        return all(_in_line(*part) for part in value[-1])
    return kind.name in ("ANY", "GROUPREF", "FAILURE")


def _takes_newline(items: list[tuple[Any, Any]]) -> bool:
    """Whether a set of letters has the end of a line."""
    found = any(
        (kind.name == "LITERAL" and value == _NEWLINE)
        or (kind.name == "RANGE" and value[0] <= _NEWLINE <= value[1])
        or (kind.name == "CATEGORY" and value.name in _WITH_NEWLINE)
        for kind, value in items
    )
    return found is not (items[0][0].name == "NEGATE")


_NEWLINE = ord("\n")
_NO_WIDTH = ("AT", "ASSERT", "ASSERT_NOT")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_WITH_NEWLINE = ("CATEGORY_SPACE", "CATEGORY_NOT_WORD", "CATEGORY_NOT_DIGIT")
