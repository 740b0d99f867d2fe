"""Logs of which the steps take several times as long as they did before, until the last line, or many minutes from the first one
on: the job gets on, far too slowly."""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
import statistics
from collections.abc import Iterator

from ..model.labels import STEP
from ..model.patterns import regex
from .case import Case
from .file_lines import lines_by_file
from .remembered import remembered
from .saying import saying

_MANY_TIMES = 4.0
_LAST = 2  # steps: a lone one may have saved a checkpoint
# How long a step took: where it is named so (Megatron's in ms), s/it wherever it stands, or seconds at the end of the line.
_TOOK = regex(
    r"\b(?:elapsed time per (?:iteration|step)|step[ _]time|time[ _/]per[ _](?:step|iteration))"
    r" ?(?:\((?P<unit>ms|s)\))?[ :=]{1,3}(?P<named>\d{1,9}(?:\.\d{1,9})?)(?: ?(?P<after>ms|s)\b)?|"
    r"(?<![\d.:])(?P<per>\d{1,7}(?:\.\d{1,9})?) ?(?:s|sec|seconds?)/(?:it|step|iter|iteration|batch)\b|"
    r"(?<![\d.:])(?P<end>\d{1,7}(?:\.\d{1,9})?) ?(?:s|sec|seconds?)\s*$"
)
_MARKS = regex(r"[\d\W]{1,400}")  # what differs between lines of one shape: figures, and how far a bar has come


@remembered
def slowed(case: Case) -> str | None:
    """What the first such log tells of its last step, beside what was usual before."""
    return next(_found(case), None)


@remembered
def crawls(case: Case) -> str | None:
    """A step that took many minutes, of a log in which every step does, or of which only the first did."""
    return next(_crawling(case), None)


def _found(case: Case) -> Iterator[str]:
    for steps in _timed(case):
        before, last = [took for took, _ in steps[:-_LAST]], steps[-_LAST:]
        usual = statistics.median_low(sorted(before)[: len(before) // 2 + 1]) if before else 0.0
        if usual > 0 and min(took for took, _ in last) >= max(_MANY_TIMES * usual, 1.0):
            yield f"{last[-1][1]} (before: {usual:g} s)"


_MINUTES_S = 300.0  # a step of the largest models takes less
_FIRST_S = 600.0  # a cold cache alone keeps the first step for minutes
_FIRST_TIMES = 20.0  # what is made for the first step is not made again


def _crawling(case: Case) -> Iterator[str]:
    for steps in _timed(case):
        if len(steps) >= _LAST and min(took for took, _ in steps[-_LAST:]) >= _MINUTES_S:
            yield steps[-1][1]
        first, later = steps[0], steps[1:]
        if later and first[0] >= max(_FIRST_S, _FIRST_TIMES * max(took for took, _ in later)):
            yield f"{first[1]} (then: {later[0][0]:g} s)"


# How somebody tells the pace of one work at two times: "first hours: 2.2 s/it", "now: 18.5 s/it".
_PACE = regex(
    r"(?<![\d.:])(?P<took>\d{1,7}(?:\.\d{1,9})?) ?(?P<unit>ms|s|sec|seconds?|min|minutes?) ?(?:/|per|an?|each) ?(?:b|it|steps?|iter(?:ation)?s?|batch(?:es)?|images?|samples?)\b|"
    r"(?<![\d.:])(?P<made>\d{1,7}(?:\.\d{1,9})?) ?(?:b|it|steps?|iter(?:ation)?s?|batch(?:es)?|images?|samples?) ?(?:/|per|an?) ?(?P<per>s|sec|second|min|minute)\b",
    re.IGNORECASE,
)
_BEFORE = regex(
    r"\b(?:first|initial(?:ly)?|start(?:s|ed)?|begin(?:ning|s)?|began|before|early|earlier|fresh|was|used to be)\b",
    re.I,
)
_NOW = regex(
    r"\b(?:now|later|afterwards|today|currently|by then|at last|in the end|(?:day|week)s? on|after (?:\d+|a|an|one|two|three|some|several|many) \w+)\b",
    re.I,
)
_CLAUSES = regex(r"[,;|]|->|→|\bthen\b|\bbut\b")


def paces_apart(case: Case) -> str | None:
    """What somebody tells of a pace that was several times as good before; None where nobody tells of two."""
    for said in lines_by_file(case).values() if not case.snapshot.live else ():
        before: tuple[float, str] | None = None
        for part in (one.strip() for event in said[:_SHORT] for one in _CLAUSES.split(event.text[:_WIDEST])):
            if (pace := _PACE.search(part)) is None:
                continue
            took = _pace_s(pace)
            if before and _NOW.search(part) and took >= _MANY_TIMES * before[0] > 0:
                return f"{part} (before: {before[1]})"
            if _BEFORE.search(part):
                before = took, part
    return None


_SHORT, _WIDEST = 400, 300  # lines of what somebody wrote, and characters of a line
_UNITS_S = {"ms": 0.001, "min": 60.0}


def _pace_s(pace: re.Match[str]) -> float:
    """The seconds that one piece of work takes."""
    unit = _UNITS_S.get((pace["unit"] or pace["per"]).lower()[:3], 1.0)
    return float(pace["took"]) * unit if pace["took"] else unit / max(float(pace["made"]), 1e-9)


def _timed(case: Case) -> Iterator[list[tuple[float, str]]]:
    """The steps of each log, with what each took, those of lines of one shape together."""
    timed: dict[str, dict[str, list[tuple[float, str]]]] = {}
    for event in saying(case, STEP, _TOOK) if not case.snapshot.live else ():
        if event.event == "text.line" and (took := _TOOK.search(event.text)):
            steps = timed.setdefault(event.file, {}).setdefault(_MARKS.sub("#", event.text), [])
            steps.append((_seconds(took), event.text.strip()))
    for file in lines_by_file(case) if timed else ():
        yield from timed.get(file, {}).values()


def _seconds(took: re.Match[str]) -> float:
    """The time of a step; one that is named so, and without a unit, is in seconds."""
    figure = float(took["named"] or took["per"] or took["end"])
    return figure / 1000 if "ms" in (took["unit"], took["after"]) else figure
