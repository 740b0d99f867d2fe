"""No pattern explodes: on lines that almost match, each says no at once, since what it reads comes from strangers.

A pattern with two ways to divide the same words (``(?:a+,?)+=``) takes twice as long for every further letter. On lines of two
hundred it would not end in this lifetime, while any other pattern needs less than a blink. One with three loops over the same
letters is found out by a long line: there two loops need a tenth of a second, three need minutes.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import signal
from collections.abc import Iterable, Iterator
from types import FrameType, ModuleType

import pytest

from rankscope import analysis, formats, model, rules
from rankscope.analysis.accounts import compiled
from rankscope.formats.events._table import Pattern
from rankscope.model.patterns import Late
from rankscope.rules.told._signs import Sign

ROOMS = (analysis, formats, model, rules)
LONG_S = 10.0  # of CPU for one pattern over all lines; those that are well take a thousandth
PIECES = (
    "a", "a.", "a b ", "0 ", "1,", "f(x).g(y)", "'", " ", "\n", "\t", "-", "[0]", "a/b.py:1 ", "x=1 ", "rank 0: ", "ranks 0-3,",
    "lock ", "works when ", "if rank == 0:\n", "#1 0x00 in f () from lib\n", "frame (a.py:1)\n", "holds a lock, waits for one ",
)  # fmt: skip
# What a pattern must have read before it comes to its loop.
BEGUN = (("Rank 0 ", "- "), ("ranks 0 ", ", "), ("ranks 0-3 ", "-"), ("ranks 0", "."), ("==> rank 3", " ,"))
LINES = tuple(
    begin + piece * (length // len(piece) + 1) + "!"
    for length in (200, 2000)
    for begin, piece in (*BEGUN, *(("", piece) for piece in PIECES))
)


def patterns(value: object) -> Iterator[re.Pattern[str]]:
    """The patterns for text in a value of a module, however deep."""
    if isinstance(value, Sign):
        yield from map(compiled, (value.pattern, *value.also, *value.anywhere, *value.unless, value.until))
    elif isinstance(value, (re.Pattern, Late)):
        if value.flags & re.UNICODE:  # those for bytes are only compiled
            yield value
    elif isinstance(value, dict):
        yield from patterns(tuple(value.values()))
    elif isinstance(value, (tuple, list, set, frozenset)):
        for item in value:
            yield from patterns(item)
    elif isinstance(value, Pattern):
        yield value.regex


def modules() -> Iterator[ModuleType]:
    for room in ROOMS:
        for info in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            yield importlib.import_module(info.name)


def give_up(number: int, frame: FrameType | None) -> None:
    raise TimeoutError


def endless(found: Iterable[re.Pattern[str]], within_s: float) -> list[str]:
    """The patterns that do not get through all lines with so much CPU, however busy the machine is."""
    bad = []
    before = signal.signal(signal.SIGPROF, give_up)
    try:
        for pattern in found:
            signal.setitimer(signal.ITIMER_PROF, within_s)
            try:
                for line in LINES:
                    pattern.search(line)
            except TimeoutError:
                bad.append(pattern.pattern[:200])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return bad


@pytest.mark.parametrize("module", tuple(modules()), ids=lambda module: module.__name__.removeprefix("rankscope."))
def test_every_pattern_gives_up_soon(module: ModuleType) -> None:
    assert endless(patterns([value for name, value in vars(module).items() if not name.startswith("__")]), LONG_S) == []


def test_patterns_that_are_compiled_late_are_tried() -> None:
    assert [pattern.pattern for pattern in patterns([Late("a+", 0), Late(b"a+", 0)])] == ["a+"]


def test_a_pattern_that_explodes_is_found_wherever_it_stands() -> None:
    """GIVEN a table with one of them in a sign and one in a row of events, WHEN they are tried, THEN both are named."""
    module = {
        "_SIGNS": (Sign(r"(a+)+$", "nothing"), Sign(r"a+$", "nothing")),
        "_TABLE": [Pattern("x", re.compile(r"(?:a|a)+=$"))],
    }
    assert endless(patterns(module), 0.2) == ["(a+)+$", "(?:a|a)+=$"]
