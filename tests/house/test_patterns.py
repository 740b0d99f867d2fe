"""No pattern explodes: on lines that almost match, each says no at once, since what it reads comes from strangers.

A pattern with two ways to divide the same words (``(?:a+,?)+=``) takes twice as long for every further letter. On lines of two
hundred it would not end in this lifetime, while any other pattern needs less than a blink. One with three loops over the same
letters is found out by a long line: there two loops need a tenth of a second, three need minutes.

Some lines are tried on all patterns; more are made from each pattern by itself (``harness.attacks``), so that nobody has to
think of the line that a new one cannot bear.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import pkgutil
import re
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from types import FrameType, ModuleType

import pytest

from harness.attacks import attacks, line
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


# Logs in which every line begins what a pattern may look for in the lines behind it.
LOGS = (
    "".join(f"shard {at} of 8 MB was read and sorted in 3 s, finished\n" for at in range(3000)),
    "".join(f"thread {at % 7}: mutex_{at} locked by worker {at}\n" for at in range(9000)),
)


def endless(found: Iterable[re.Pattern[str]], within_s: float, texts: Iterable[str] = LINES) -> list[str]:
    """The patterns that do not get through all texts with so much CPU, however busy the machine is."""
    bad = []
    before = signal.signal(signal.SIGPROF, give_up)
    try:
        for pattern in found:
            signal.setitimer(signal.ITIMER_PROF, within_s)
            try:
                for text in texts:
                    pattern.search(text)
            except TimeoutError:
                bad.append(pattern.pattern[:200])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return bad


@pytest.mark.parametrize("module", tuple(modules()), ids=lambda module: module.__name__.removeprefix("rankscope."))
def test_every_pattern_gives_up_soon(module: ModuleType) -> None:
    assert endless(patterns([value for name, value in vars(module).items() if not name.startswith("__")]), LONG_S) == []


@pytest.mark.parametrize(
    "module",
    tuple(module for module in modules() if module.__name__.startswith("rankscope.rules.told.")),
    ids=lambda module: module.__name__.rpartition(".")[2],
)
def test_a_pattern_of_several_lines_does_not_read_a_log_anew_for_each_line(module: ModuleType) -> None:
    """What it looks for stands a few lines further on, or nowhere."""
    several = [one for one, _ in first_met(module) if "\\n" in one.pattern or "\\s\\S" in one.pattern]
    assert endless(several, LONG_S / 2, LOGS) == []


# A line is read by formats up to 64 KiB (``formats.lines``), and searched by rules up to 4000 letters. Work that grows with the
# square of that is borne where it stays small; with four times the letters it takes sixteen times as long, what is well four.
LONG = {"formats": 16_000, "model": 16_000, "analysis": 4000, "rules": 4000}
DEAR_S = 1.0
GROWTH = 8.0
# A line so many times shorter tells which to look at: what takes less than a third power's share of what is dear is well.
PART = 16

Asked = tuple[re.Pattern[str], Callable[[str], object]]


def searchers(module: ModuleType) -> Iterator[Asked]:
    """The patterns of a module, each with the way in which it is asked: one that is only matched reads a line from its start."""
    asked: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            asked.setdefault(node.value.id, set()).add(node.attr)
    for name, value in vars(module).items():
        if not name.startswith("__"):
            only_matched = name.startswith("_") and bool(asked.get(name)) and asked[name] <= {"match", "fullmatch"}
            for pattern in patterns(value):
                yield pattern, pattern.match if only_matched else pattern.search


@functools.cache
def owners() -> dict[tuple[str, bool], str]:
    """Where each pattern stands first; most modules of a room share some."""
    found: dict[tuple[str, bool], str] = {}
    for module in modules():
        for pattern, ask in searchers(module):
            found.setdefault((pattern.pattern, ask == pattern.match), module.__name__)
    return found


def first_met(module: ModuleType) -> Iterator[Asked]:
    """The patterns of a module that no module before it has."""
    for pattern, ask in searchers(module):
        if owners()[pattern.pattern, ask == pattern.match] == module.__name__:
            yield pattern, ask


def took_s(
    ask: Callable[[str], object], text: str, times: int, within_s: float, clock: Callable[[], float] = time.process_time
) -> float:
    """The least CPU time that a question took, ``within_s`` where it did not come to its end."""
    least = within_s
    for _ in range(times):
        signal.setitimer(signal.ITIMER_PROF, within_s)
        began = clock()
        try:
            ask(text)
        except TimeoutError:
            return within_s
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        least = min(least, clock() - began)
    return least


def grows(ask: Callable[[str], object], begin: str, piece: str, length: int, dear_s: float) -> bool:
    """Whether a line takes long, and that because it is long; by the least of several times, since others use the machine too."""
    # Some kernels count CPU time in ticks, which short lines do not take; the clock on the wall is never too fast.
    if took_s(ask, line(begin, piece, length // PART), 1, dear_s, time.perf_counter) < dear_s / PART**3:
        return False
    short_s = took_s(ask, line(begin, piece, length // 4), 1, dear_s, time.perf_counter)
    if short_s * 4**3 < dear_s:
        return False
    long_s = took_s(ask, line(begin, piece, length), 1, dear_s)
    if long_s >= dear_s > short_s:
        short_s = min(short_s, took_s(ask, line(begin, piece, length // 4), 3, dear_s))
        # It may take as long as shows its growth, however slow the machine is.
        long_s = took_s(ask, line(begin, piece, length), 3, max(2 * dear_s, 1.1 * GROWTH * short_s))
    return short_s >= dear_s or (long_s >= dear_s and long_s > GROWTH * short_s)


def dear(asked: Iterable[Asked], length: int, dear_s: float) -> list[str]:
    """The patterns for which a line can be made that takes long, each with the line."""
    found = []
    before = signal.signal(signal.SIGPROF, give_up)
    try:
        for pattern, ask in asked:
            for begin, piece in attacks(pattern.pattern, pattern.flags):
                if grows(ask, begin, piece, length, dear_s):
                    found.append(f"{pattern.pattern[:200]} on {begin!r} + {piece!r} * many")
                    break
    finally:
        signal.signal(signal.SIGPROF, before)
    return found


@pytest.mark.parametrize("module", tuple(modules()), ids=lambda module: module.__name__.removeprefix("rankscope."))
def test_no_line_takes_a_pattern_long(module: ModuleType) -> None:
    """GIVEN lines made of what a pattern repeats, WHEN they are as long as a line may be, THEN they are read soon."""
    room = module.__name__.split(".")[1]
    assert dear(first_met(module), LONG[room], DEAR_S) == []


@pytest.mark.parametrize(
    "pattern",
    [
        r"lock\w*[^\n]*held",
        r"\w*lock\w*[^\n]*held",
        r"a[^\n]*b[^\n]*c",
        r"={3,}\S.*={3,}$",
        r"(?:\n\s*)*\n\s*\(",
        r"(a+)+$",
    ],
)
def test_a_line_is_made_that_a_pattern_cannot_bear(pattern: str) -> None:
    """Each of these has more than two ways to read on for every letter; none of the lines is written down anywhere."""
    found = re.compile(pattern)
    assert dear([(found, found.search)], 4000, 0.3)


@pytest.mark.parametrize("pattern", [r"lock[^\n]*held", r"\w+ held", r"^\s*expr: ?\S", r"(?:[a-z]{1,20} ){0,8}held"])
def test_a_pattern_that_is_well_is_left_alone(pattern: str) -> None:
    found = re.compile(pattern)
    assert dear([(found, found.search)], 4000, 0.3) == []


def test_patterns_that_are_compiled_late_are_tried() -> None:
    assert [pattern.pattern for pattern in patterns([Late("a+", 0), Late(b"a+", 0)])] == ["a+"]


def test_a_pattern_that_explodes_is_found_wherever_it_stands() -> None:
    """GIVEN a table with one of them in a sign and one in a row of events, WHEN they are tried, THEN both are named."""
    module = {
        "_SIGNS": (Sign(r"(a+)+$", "nothing"), Sign(r"a+$", "nothing")),
        "_TABLE": [Pattern("x", re.compile(r"(?:a|a)+=$"))],
    }
    assert endless(patterns(module), 0.2) == ["(a+)+$", "(?:a|a)+=$"]
