"""How fast the ranks are, as programs print it beside each other: timers, a detector's ranking, clocks and links of devices;
and as somebody tells it of each."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator

from ...analysis.accounts import Account, accounts
from ...analysis.case import Case
from ...analysis.sayings import sayings
from ...model.patterns import regex

_MUCH = 4.0  # times what the next one takes
_LONG_MS = 500.0


def uneven(case: Case) -> Iterator[tuple[Account, str]]:
    """Lines by which one rank or device is far behind the others."""
    for one in accounts(case):
        for judge in (_ranking, _span, _timers, _table, _devices):
            if (line := judge(one)) is not None:
                yield one, line


# megatron/core/utils.py, StragglerDetector: the throughput of those that have least, each with its rank.
_LEAST = regex(r"Bottom \d+ Ranks with lowest +Etpt \(TF\): (?P<list>[^\n]+)")


def _ranking(one: Account) -> str | None:
    for found in _LEAST.finditer(one.said):
        values = [float(value) for value in re.findall(r"([\d.]+)/\d+", found["list"])]
        if len(values) > 1 and values[1] > 1.5 * values[0]:
            return found.group()
    return None


# megatron/core/timers.py: "(min, max) time across ranks (ms)".
_TIMER = regex(
    r"^\s*(?P<name>[\w-]*(?:compute|batch-generator|data|load)[\w-]*) \.{3,}: \((?P<low>[\d.]+), (?P<high>[\d.]+)\)",
    re.M,
)


def _span(one: Account) -> str | None:
    for found in _TIMER.finditer(one.said):
        if float(found["high"]) > max(_LONG_MS, _MUCH * float(found["low"])):
            return found.group().strip()
    return None


# deepspeed/utils/timer.py: a line per rank, "[Rank 2] time (ms) | fwd_microstep: 122.1 | …". Who waits, does so in the exchange.
_RANK_LINE = regex(r"\[Rank (?P<rank>\d+)\] time \(ms\) \|(?P<timers>[^\n]+)")
_ONE_TIMER = regex(r"(?P<name>\w+): (?P<value>[\d.]+)")
_EXCHANGES = regex(r"allreduce|reduce|comm|gather|wait", re.I)


def _timers(one: Account) -> str | None:
    times: dict[str, dict[str, float]] = {}
    for line in _RANK_LINE.finditer(one.said):
        for timer in _ONE_TIMER.finditer(line["timers"]):
            if not _EXCHANGES.search(timer["name"]):
                times.setdefault(timer["name"], {})[line["rank"]] = float(timer["value"])
    for name, by_rank in times.items():
        ordered = sorted(by_rank.items(), key=lambda item: -item[1])
        if len(ordered) > 1 and ordered[0][1] > max(_LONG_MS, _MUCH * ordered[1][1]):
            return f"{name}: {ordered[0][1]:.0f} ms on rank {ordered[0][0]}, {ordered[1][1]:.0f} ms on rank {ordered[1][0]}"
    return None


_HEAD = regex(
    r"^\s*rank\b[^\n]*\b(?:ms|s|sec\w*|time\w*|mean|avg|median|p\d\d|step\w*|max|iter\w*)\b[^\n]*$", re.I | re.M
)
_RANK_ROW = regex(r"^\s*(?P<rank>\d{1,6})[\s|,]+(?P<value>\d+(?:\.\d+)?)\b")


def _table(one: Account) -> str | None:
    """A table of ranks with their times, of which one is a multiple of all others."""
    for head in _HEAD.finditer(one.said):
        rows = [row for line in one.said[head.end() :].splitlines()[1:600] if (row := _RANK_ROW.match(line))]
        ordered = sorted(rows, key=lambda row: -float(row["value"]))
        if len(ordered) > 2 and float(ordered[0]["value"]) > _MUCH * float(ordered[1]["value"]) > 0:
            return ordered[0].string.strip()
    return None


_ROW = regex(r"^\s*(?P<index>\d{1,3})(?P<cells>(?:, *[^,\n]+){2,})$", re.M)
_FIGURE = regex(r"\d+(?:\.\d+)?")


def _devices(one: Account) -> str | None:
    """Rows of ``nvidia-smi --query-gpu`` of which one has a clock, or a link, far below those of all others."""
    if not re.search(r"clocks\.|pcie\.link|\bMHz\b", one.text):
        return None
    rows = [(found.group().strip(), found["cells"].split(",")[1:]) for found in _ROW.finditer(one.said)]
    width = min((len(cells) for _, cells in rows), default=0)
    for column in range(width if len(rows) > 2 else 0):
        cells = [cells[column] for _, cells in rows]
        figures = [float(found.group()) if (found := _FIGURE.search(cell)) else 0.0 for cell in cells]
        usual = statistics.median(figures)
        low = [row for (row, _), figure in zip(rows, figures) if figure * 2 <= usual]
        named = "MHz" in cells[0] or ("pcie.link" in one.text and usual <= 16)
        if named and usual > 0 and len(low) == 1 and max(figures) < 1.3 * usual:
            return low[0]
    return None


_TOLD_TIME = regex(r"\b(?P<number>\d+(?:\.\d+)?) ?(?P<unit>ms|s|sec|seconds|min|minutes)\b", re.IGNORECASE)
_UNITS = {"ms": 0.001, "s": 1.0, "sec": 1.0, "seconds": 1.0, "min": 60.0, "minutes": 60.0}


def told_apart(case: Case) -> Iterator[tuple[Account, str]]:
    """Times that are told per rank, of which one is a multiple of the others'."""
    for account in accounts(case):
        times: dict[int, tuple[float, str]] = {}
        for line in account.said.splitlines():
            for subject, said in sayings(line):
                found = _TOLD_TIME.search(said)
                if found and len(subject.ranks) == 1:
                    times[next(iter(subject.ranks))] = (float(found["number"]) * _UNITS[found["unit"].lower()], said)
        ordered = sorted(times.values(), reverse=True)
        if (
            len(ordered) > 2
            and ordered[0][0] > _MUCH * ordered[1][0] > 0
            and account.find(r"\bstep|iter|batch|load|took|takes")
        ):
            yield account, ordered[0][1]
