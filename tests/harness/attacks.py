"""What a pattern reads for long in vain, made from the pattern itself: what its loops repeat, over and over, without an end."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator
from typing import Any

from rankscope.analysis.needles import parser

MANY = 50  # a loop that ends by itself after fewer turns is none
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_LETTER = ("LITERAL", "NOT_LITERAL", "ANY", "IN")
# Which letters stand for a set: words, figures and blanks first, since most loops are over these.
_LETTERS = "a0 -_.:/!,;([{\"'=#<>\tAZ%@\n\x00é" + string.printable
_OFTEN = "a0 -"
_CATEGORIES = {"DIGIT": re.compile(r"\d"), "SPACE": re.compile(r"\s"), "WORD": re.compile(r"\w")}

Part = tuple[Any, Any]


def attacks(pattern: str, flags: int) -> tuple[tuple[str, str], ...]:
    """Beginnings, each with what is repeated behind it, by which a pattern is tried.

    For each of its loops: what the loop takes, alone and behind all that must stand before it; and that together with its
    neighbours, since a loop that begins anew at each of them, or takes what the next one takes, is what lasts.
    """
    tree = parser.parse(pattern, flags)
    found: dict[tuple[str, str], None] = {}
    for before, taken, after in _loops(tree, tree.state.flags, ""):
        for piece in taken:
            found[before, piece] = found["", piece] = None
        for piece in (before, before[-12:], after, before + after, *(before + one for one in taken),
                      *(one + after for one in taken)):  # fmt: skip
            if piece.strip():
                found["", piece] = None
    return tuple(one for one in found if one[1])


def line(begin: str, piece: str, length: int) -> str:
    """An attack so many letters long, ended by what hardly any pattern takes."""
    return begin + piece * (length // len(piece) + 1) + "\x00!"


def _loops(parts: Iterable[Part], flags: int, before: str) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Of each loop: a text that leads to it, what one turn may take, a text that may follow."""
    parts = list(parts)
    for at, (kind, value) in enumerate(parts):
        led = before + _text(parts[:at], flags)
        if kind.name in _REPEATS and value[1] > MANY:
            yield led, tuple(dict.fromkeys(_turns(list(value[2]), flags))), _text(parts[at + 1 : at + 3], flags)
        for inner in _within(kind.name, value):
            yield from _loops(inner, flags, led)


def _within(kind: str, value: Any) -> Iterable[Iterable[Part]]:
    if kind == "BRANCH":
        return tuple(value[1])
    if kind in ("SUBPATTERN", "ASSERT", "ASSERT_NOT", *_REPEATS):
        return (value[-1],)
    return (value,) if kind == "ATOMIC_GROUP" else ()


def _turns(body: list[Part], flags: int) -> Iterator[str]:
    """Texts that one turn of a loop takes."""
    if len(body) == 1 and body[0][0].name in _LETTER:
        letters = tuple(_letters(*body[0], flags))
        yield from letters[:1]
        yield from (letter for letter in letters if letter in _OFTEN)
        return
    yield _text(body, flags)
    yield from _choices(body, flags)


def _choices(parts: Iterable[Part], flags: int) -> Iterator[str]:
    for kind, value in parts:
        if kind.name == "SUBPATTERN":
            yield from _choices(value[-1], flags)
        elif kind.name == "BRANCH":
            yield from (_text(one, flags) for one in value[1])


def _text(parts: Iterable[Part], flags: int) -> str:
    """A text as short as parts in a row take; what they look at beside it is not minded."""
    return "".join(_shortest(kind, value, flags) for kind, value in parts)


def _shortest(kind: Any, value: Any, flags: int) -> str:
    if kind.name in _LETTER:
        return next(_letters(kind, value, flags), "")
    if kind.name == "BRANCH":
        return _text(value[1][0], flags)
    if kind.name in _REPEATS:
        return _text(value[-1], flags) * int(value[0])
    if kind.name == "SUBPATTERN":
        return _text(value[-1], flags)
    return _text(value, flags) if kind.name == "ATOMIC_GROUP" else ""


def _letters(kind: Any, value: Any, flags: int) -> Iterator[str]:
    """Letters that a part of one letter takes."""
    if kind.name == "LITERAL":
        yield chr(value)
    elif kind.name == "NOT_LITERAL":
        yield from (letter for letter in _LETTERS if ord(letter) != value)
    elif kind.name == "ANY":
        yield from (letter for letter in _LETTERS if flags & re.DOTALL or letter != "\n")
    else:
        named = [chr(one[1] if one[0].name == "LITERAL" else one[1][0]) for one in value if one[0].name in _NAMED]
        yield from (letter for letter in (*named, *_LETTERS) if _is_in(letter, value))


_NAMED = ("LITERAL", "RANGE")


def _is_in(letter: str, items: Iterable[Part]) -> bool:
    found = wanted = False
    for kind, value in items:
        if kind.name == "NEGATE":
            wanted = True
        elif kind.name == "LITERAL":
            found |= ord(letter) == value
        elif kind.name == "RANGE":
            found |= value[0] <= ord(letter) <= value[1]
        else:
            name = value.name.removeprefix("CATEGORY_")
            category = _CATEGORIES[name.removeprefix("NOT_").removeprefix("UNI_")]
            found |= (category.match(letter) is not None) != name.startswith("NOT_")
    return found != wanted
