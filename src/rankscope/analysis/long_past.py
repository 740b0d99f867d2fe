"""Lines of the kernel that are days older than the rest of the evidence: its log is kept for longer than a job lasts."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

from ..model.evidence.events import Event
from ..model.patterns import regex
from .case import Case
from .remembered import remembered

_MONTHS = {name: number for number, name in enumerate("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}
# A date with its month's name, as dmesg -T writes it and as logs do: Tue Nov 4 03:11:20 2025, Nov 21 2025 10:00.
_NAMED = regex(
    rf"^\W*(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?P<month>{'|'.join(_MONTHS)}) +(?P<day>\d\d?),? "
    r"(?:(?P<before>\d{4}) (?P<time>\d\d:\d\d)|(?P<clock>\d\d:\d\d):\d\d (?P<after>\d{4})\b)"
)
# How the kernel's lines begin: dmesg -T, the journal behind its date, seconds since the machine started.
_KERNEL = regex(r"^\[[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ [\d:]{8} \d{4}\]|^(?:\S+ )?kernel: ")
_UPTIME = regex(r"^\[ *(\d+)\.\d{3,6}\] ")
_LONG = timedelta(days=2)


def long_past(case: Case, event: Event) -> bool:
    """Whether the kernel wrote a line days before the last moment that the evidence knows."""
    if up := _UPTIME.match(event.text):
        return int(up[1]) + _LONG.total_seconds() < _uptimes(case).get(event.file, 0)
    if not _KERNEL.match(event.text):
        return False
    day, newest = _day(event), _newest(case)
    return day is not None and newest is not None and day + _LONG <= newest


@remembered
def _uptimes(case: Case) -> dict[str, int]:
    """The greatest uptime that each file names."""
    found: dict[str, int] = {}
    for event in case.events:
        if up := _UPTIME.match(event.text):
            found[event.file] = max(int(up[1]), found.get(event.file, 0))
    return found


@remembered
def _newest(case: Case) -> date | None:
    """The last day that a line of the evidence begins with."""
    return last.date() if (last := newest_moment(case)) is not None else None


@remembered
def newest_moment(case: Case) -> datetime | None:
    """The last moment that a line of the evidence begins with, by whatever clock."""
    return max((at for event in case.events if (at := moment(event)) is not None), default=None)


def _day(event: Event) -> date | None:
    """The day that a line begins with."""
    return at.date() if (at := moment(event)) is not None else None


def moment(event: Event) -> datetime | None:
    """The moment that a line begins with, to the minute, by its own clock."""
    if event.at_s is not None:
        return datetime.fromtimestamp(event.at_s, timezone.utc).replace(tzinfo=None)
    if not (found := _NAMED.match(event.text)):
        return None
    hour, minute = (found["time"] or found["clock"]).split(":")
    try:
        day = datetime(int(found["before"] or found["after"]), _MONTHS[found["month"]], int(found["day"]))
        return day.replace(hour=int(hour), minute=int(minute))
    except ValueError:
        return None
