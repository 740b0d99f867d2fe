"""No pattern explodes: on lines that almost match, each says no at once, since what it reads comes from strangers.

A pattern with two ways to divide the same words (``(?:a+,?)+=``) takes twice as long for every further letter. On lines of two
hundred it would not end in this lifetime, while any other pattern needs less than a blink.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import signal
from collections.abc import Iterator
from types import FrameType, ModuleType

import pytest

from rankscope import analysis, formats, rules
from rankscope.analysis.accounts import compiled
from rankscope.rules._text import Sign

ROOMS = (analysis, formats, rules)
LONG_S = 20.0  # for one pattern over all lines; those that are well take a thousandth
PIECES = (
    "a", "a.", "a b ", "0 ", "1,", "f(x).g(y)", "'", " ", "\n", "\t", "-", "[0]", "a/b.py:1 ", "x=1 ", "rank 0: ", "ranks 0-3,",
    "lock ", "works when ", "if rank == 0:\n", "#1 0x00 in f () from lib\n", "frame (a.py:1)\n", "holds a lock, waits for one ",
)  # fmt: skip
LINES = tuple(piece * (200 // len(piece) + 1) + "!" for piece in PIECES)


def patterns(value: object) -> Iterator[re.Pattern[str]]:
    """The patterns for text in a value of a module, however deep."""
    if isinstance(value, Sign):
        yield from map(compiled, (value.pattern, *value.also, *value.anywhere, *value.unless))
    elif isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
    elif isinstance(value, dict):
        yield from patterns(tuple(value.values()))
    elif isinstance(value, (tuple, list, set, frozenset)):
        for item in value:
            yield from patterns(item)


def modules() -> Iterator[ModuleType]:
    for room in ROOMS:
        for info in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            yield importlib.import_module(info.name)


def give_up(number: int, frame: FrameType | None) -> None:
    raise TimeoutError


@pytest.mark.parametrize("module", tuple(modules()), ids=lambda module: module.__name__.removeprefix("rankscope."))
def test_every_pattern_gives_up_soon(module: ModuleType) -> None:
    before = signal.signal(signal.SIGALRM, give_up)
    try:
        for pattern in patterns([value for name, value in vars(module).items() if not name.startswith("__")]):
            signal.setitimer(signal.ITIMER_REAL, LONG_S)
            try:
                for line in LINES:
                    pattern.search(line)
            except TimeoutError:
                pytest.fail(f"this pattern does not end: {pattern.pattern[:200]}")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
