"""How long a program compiles, by what its log says before and after each time, or of the time that it took."""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

from collections.abc import Iterator

from ...analysis.accounts import Account, accounts
from ...analysis.case import Case
from ...analysis.day_times import CLOCK, DAY_S, of_day
from ...model.patterns import regex

# torch_xla/csrc says both ends; JAX (jax/_src/dispatch.py) and Neuron's cache say how long it took.
_ENDS = regex(
    r"\b(?P<h>[01]\d|2[0-3]):(?P<m>[0-5]\d):(?P<s>[0-5]\d)\b[^\n]{0,160}\bCompiling (?P<what>[^\n]{1,160}?) ?(?:(?:\.\.\.|\u2026)? ?(?P<done>\bdone\b)|\.\.\.|\u2026)"
)
_TOOK = regex(
    r"\bFinished XLA compilation of [^\n]{1,160}? in (?P<xla>\d{1,6}(?:\.\d{1,9})?) ?s(?:ec)?\b|"
    r"\b(?:[Cc]ompilation|[Cc]ompiling)\b[^\n]{0,120}\b(?:took|finished (?:in|after)|completed in) (?P<other>\d{1,6}(?:\.\d{1,9})?) ?s(?:ec\w*)?\b"
)
_LONG_S = 30  # a step of most jobs takes less
_TIMES = 2  # the first may be that of a cold cache


def compiles_most_of_the_time(case: Case) -> str | None:
    """What one log tells of compilers that took more than half of its time, each of several times for long; else None.

    ``case`` is of saved texts. A compilation whose end is not told counts for nothing.
    """
    for one in accounts(case):
        took = list(_times(one))
        long = [(seconds, line) for seconds, line in took if seconds >= _LONG_S]
        if len(long) >= _TIMES and 2 * sum(seconds for seconds, _ in took) > _span_s(one):
            seconds, line = long[-1]
            return f"{line} (it took {seconds:.0f} s, and {len(long)} times so long)"
    return None


def _times(one: Account) -> Iterator[tuple[float, str]]:
    """Seconds of each compilation, with the line that tells of its end."""
    since: dict[str, int] = {}
    for line in one.said.splitlines():
        if "ompil" not in line:
            continue
        if (took := _TOOK.search(line)) is not None:
            yield float(took["xla"] or took["other"]), line.strip()
        elif (end := _ENDS.search(line)) is not None:
            now = of_day(end)
            if end["done"] and end["what"] in since:
                yield (now - since.pop(end["what"])) % DAY_S, line.strip()
            elif not end["done"]:
                since[end["what"]] = now


def _span_s(one: Account) -> int:
    """Seconds that a log covers; what somebody left out of it (``...``) counts for nothing."""
    total, before = 0, -1
    for line in one.said.splitlines():
        found = CLOCK.search(line[:80])
        if found is None:
            before = -1 if line.strip() in _LEFT_OUT else before
            continue
        now = of_day(found)
        total += (now - before) % DAY_S if before >= 0 else 0
        before = now
    return total


_LEFT_OUT = ("...", "\u2026", "[...]", "(...)")
