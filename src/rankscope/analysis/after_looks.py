"""Steps that a log tells of after the moment at which stacks were looked at, by the time of day that the look's heading names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..model.evidence.events import Event
from ..model.labels import STEP
from ..model.patterns import regex
from .accounts import accounts
from .case import Case
from .day_times import CLOCK, DAY_S, of_day
from .file_lines import lines_by_file
from .remembered import remembered

# In a file's name a blank or an underscore stands for the colon.
_LOOKED_AT = regex(r"(?<![\d:.])(?P<h>[01]\d|2[0-3])(?P<sign>[: _h])(?P<m>[0-5]\d)(?P=sign)(?P<s>[0-5]\d)(?![\d:])")
_LEAST = 2  # steps: one may have been under way
_AT_MOST_S = 600  # clocks of another zone differ by a quarter of an hour at least


@remembered
def steps_after_looks(case: Case) -> bool:
    """Whether a log counts on, for some minutes at most, after the last look at stacks; every look must name its time of day."""
    looks = [_LOOKED_AT.search(one.label) for one in accounts(case) if one.seen]
    times = [of_day(one) for one in looks if one is not None]
    if not times or len(times) < len(looks):
        return False
    return any(_goes_on(list(_steps(said)), max(times)) for said in lines_by_file(case).values())


@remembered
def files_of_looks(case: Case) -> frozenset[str]:
    """The files in which somebody was looked at."""
    return frozenset(event.file for one in accounts(case) if one.seen for event in one.events)


def _goes_on(steps: Sequence[float], last_look: float) -> bool:
    after = [at for at in steps if at >= last_look]
    return len(after) >= _LEAST and max(after) <= last_look + _AT_MOST_S


def _steps(said: Sequence[Event]) -> Iterator[float]:
    """The times of day of a log's steps."""
    for event in said:
        if not STEP.search(event.text):
            continue
        if event.at_s is not None:
            yield event.at_s % DAY_S
        elif found := CLOCK.search(event.text):
            yield of_day(found)
