"""Searching one text for many hundred patterns: first for the words that a pattern cannot do without.

Python's own parser of patterns tells these words. Asking it takes as long as all the rest of judging a short text, so that its
answers for the patterns of this release lie beside this file. Where none of the words is in a text, the pattern need not even
be compiled; where they are, a pattern that stays within a line is searched for in their lines alone. The answer is that of
``re`` in all cases: a pattern of which nothing is known is searched for as it is.

A thousand ranks say the same but for numbers. With zeros for all digits their texts are one, and what is not found there, with
zeros for its digits too, is in none of them.
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
from typing import Any, NamedTuple

# Python's own parser of patterns; each kind of part has a ``name``.
parser: Any = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
FLAGS = re.IGNORECASE | re.MULTILINE
# The letters beyond ASCII that equal one of ASCII where case does not matter, as ``re`` sees it.
_FOLDED = str.maketrans({"\u0130": "i", "\u0131": "i", "\u017f": "s", "\u212a": "k"})
_MANY = 64  # more words than this to choose from are no help
_GRAM = 3

FILE = Path(__file__).with_name("needles.json")

Words = tuple[str, ...]


class Known(NamedTuple):
    """What is known of a pattern: whether it stays within a line, whether it is found in zeros, what it cannot do without."""

    in_line: bool
    in_zeros: bool
    words: tuple[Words, ...]


def fold(text: str) -> str:
    """A text whose words are found whatever their case, each letter at its place."""
    return text.lower() if text.isascii() else text.translate(_FOLDED).lower()


class Haystack:
    """A text in which many patterns are looked for."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._known: dict[str, bool] = {}

    @property
    def kind(self) -> object:
        """What it shares with all texts that are like it."""
        return self

    def may_have(self, pattern: str) -> bool:
        """Whether it, or a text that is like it, may have a pattern, as far as that is known without a search of each."""
        return True

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
        """All that three letters in a row say here, digits being zeros: most words that are not there are known by it at once."""
        folded = zeroed(self._folded)
        return frozenset(map("".join, zip(folded, folded[1:], folded[2:])))


class Alike:
    """All texts that differ in digits alone: what none has is looked for once, in the one with ``zeros`` for them."""

    def __init__(self, zeros: str) -> None:
        self.zeros = Haystack(zeros)
        self.texts = 0
        self._may_have: dict[str, bool] = {}

    def may_have(self, pattern: str) -> bool:
        """Whether one of them may have a pattern; a text that is alone is searched for it itself."""
        if self.texts < 2 or not found_in_zeros(pattern):
            return True
        if pattern not in self._may_have:
            self._may_have[pattern] = self.zeros.search(zeros_of(pattern)) is not None
        return self._may_have[pattern]


class OneOfMany(Haystack):
    """A text that others may be like but for their digits."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._alike = _alike(zeroed(text))
        self._alike.texts += 1

    @property
    def kind(self) -> object:
        """What it shares with all texts that are like it."""
        return self._alike

    def may_have(self, pattern: str) -> bool:
        """Whether it, or a text that is like it, may have a pattern."""
        return self._alike.may_have(pattern)

    def each(self, pattern: str) -> Iterator[re.Match[str]]:
        """What ``re`` finds one after the other."""
        return super().each(pattern) if self.may_have(pattern) else iter(())

    @functools.cached_property
    def grams(self) -> frozenset[str]:
        """The same of all that are alike."""
        return self._alike.zeros.grams


_SHARED = 64 << 10  # letters; a longer text is a log, and like no other
_REMEMBERED = 256  # texts
_alike = functools.lru_cache(maxsize=_REMEMBERED)(Alike)


def haystack(text: str) -> Haystack:
    """A text to be searched for many patterns, for once with those that are like it."""
    return OneOfMany(text) if len(text) <= _SHARED else Haystack(text)


def zeroed(text: str) -> str:
    """A text with zeros for its digits, each letter at its place."""
    return text.translate(_DIGITS)


_DIGITS = str.maketrans("123456789", "000000000")


@functools.lru_cache(maxsize=4096)
def zeros_of(pattern: str) -> str:
    """A pattern with zeros for its digits, where they do not tell how often something comes."""
    return _OWN_DIGIT.sub(lambda found: found[0] if len(found[0]) > 1 else "0", _loosened(pattern))


_OWN_DIGIT = re.compile(r"\{\d{0,9},?\d{0,9}\}|\d")


def _loosened(pattern: str) -> str:
    """A pattern without what must not be there, where that looks at digits: it is found wherever the whole one is."""
    parts: list[str] = []
    opened: list[int] = []
    for part in _PART.findall(pattern):
        parts.append(part)
        if part.startswith("("):
            opened.append(len(parts) - 1)
        elif part == ")":
            at = opened.pop()
            whole = parts[at] in _NOT and not any(parts[outer] in _NOT for outer in opened)
            if whole and any(len(found) == 1 for found in _OWN_DIGIT.findall("".join(parts[at:]))):
                del parts[at:]
    return "".join(parts)


_NOT = ("(?!", "(?<!")


# A part of a pattern: what is escaped, a set, a bracket, a letter.
_PART = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?<?!|[\s\S]")


def possible(pattern: str, grams: frozenset[str]) -> bool:
    """Whether any of the texts of which these are the ``grams`` may have what a pattern cannot do without."""
    return all(any(_spelt_of(word, grams) for word in words) for words in needed(pattern))


def _spelt_of(word: str, grams: frozenset[str]) -> bool:
    zeros = zeroed(word)
    return all(zeros[at : at + _GRAM] in grams for at in range(len(zeros) - _GRAM + 1))


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
    return _known(pattern).words


def stays_in_line(pattern: str) -> bool:
    """Whether a pattern takes, and looks at, nothing but what stands in one line."""
    return _known(pattern).in_line


def found_in_zeros(pattern: str) -> bool:
    """Whether a pattern that is found in a text is also found with zeros for all digits, in the text and in the pattern."""
    return _known(pattern).in_zeros


@functools.lru_cache(maxsize=4096)
def _known(pattern: str) -> Known:
    """What is known of a pattern, from the table or, of one that is not there, from the parser."""
    told = _table().get(key(pattern))
    return Known(told[0], told[1], tuple(map(tuple, told[2]))) if told else parsed(pattern)


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
    words = tuple(words for words in _words(tree) if min(map(len, words)) > 1)
    loose = _loosened(pattern)
    in_zeros = not _ESCAPED_DIGIT.search(loose) and all(_in_zeros(*part) for part in parser.parse(spelt(loose), FLAGS))
    return Known(in_line, in_zeros, words)


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


# A number of a group or of a letter, and sets in which braces would be taken for how often something comes.
_ESCAPED_DIGIT = re.compile(r"\\[\dxuUN]|\(\?\(|\[[^\]\n]{0,99}\{\d")


def _in_zeros(kind: Any, value: Any, strictly: bool = False) -> bool:
    """Whether a part that takes a text also takes it with zeros for digits in both; ``strictly``: takes it no sooner either, as
    what must not be there. A part that takes some of the digits takes all of them there."""
    if kind.name in ("LITERAL", "NOT_LITERAL"):
        return value not in _DIGITS_ALL or (kind.name == "LITERAL" and not strictly)
    if kind.name == "IN":
        named = sum(any(_is_named(digit, kind.name, value) for kind, value in value) for digit in _DIGITS_ALL)
        return named in (0, len(_DIGITS_ALL)) or not (strictly or value[0][0].name == "NEGATE")
    if kind.name == "BRANCH":
        return all(_in_zeros(of, what, strictly) for each in value[1] for of, what in each)
    if kind.name in _REPEATS or kind.name in ("SUBPATTERN", "ASSERT", "ASSERT_NOT"):
        return kind.name != "POSSESSIVE_REPEAT" and all(
            _in_zeros(of, what, strictly or kind.name == "ASSERT_NOT") for of, what in value[-1]
        )
    return kind.name in ("ANY", "AT", "FAILURE") or (kind.name == "GROUPREF" and not strictly)


def _is_named(digit: int, kind: str, value: Any) -> bool:
    """Whether one item of a set names a digit; categories name all of them or none."""
    return (kind == "LITERAL" and value == digit) or (kind == "RANGE" and value[0] <= digit <= value[1])


_DIGITS_ALL = range(ord("0"), ord("9") + 1)
_NEWLINE = ord("\n")
_NO_WIDTH = ("AT", "ASSERT", "ASSERT_NOT")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_WITH_NEWLINE = ("CATEGORY_SPACE", "CATEGORY_NOT_WORD", "CATEGORY_NOT_DIGIT")
