"""What a log says is gone, and later that it is back: a file server that answers again, a port that is up, a rank that came."""

from __future__ import annotations

from datetime import timedelta

from ..model.evidence.events import Event
from ..model.patterns import regex
from .case import Case
from .file_lines import lines_by_file
from .long_past import moment, newest_moment
from .remembered import remembered
from .stalls_over import stall_over

# Of whom it is said, and how it comes back.
_SERVER = regex(
    r"(?:\bnfs: server |\bLustre(?:Error)?: (?:\d[\d-]{0,16}: )?)(?P<who>[^\s:]{1,100}):? "
    r"(?:(?P<gone>not responding|[^\n]{0,80}\bConnection to \S{1,100} was lost)|(?P<back>OK\b|Connection restored\b))"
)
_PORT = regex(
    r"(?<![\w:.])(?P<who>[\da-f]{4}:[\da-f]{2}:[\da-f]{2}\.\d)[^\n]{0,80}"
    r"\b[Ll]ink (?:is )?(?:(?P<gone>[Dd]own)|(?P<back>[Uu]p))\b"
)
# Clocks of machines are up to so many hours apart, and a port that was away for seconds may have broken what used it then.
_LONG = timedelta(hours=15)


def recovered(case: Case, event: Event) -> bool:
    """Whether a line tells of somebody who is gone, and the last line about them in its file that they are back.

    Of ranks that Horovod's stall inspector misses their steps behind its last report say so. A server's clients wait and go on.
    What used a port may not: there also hours must have passed until the last moment that the evidence knows.
    """
    if stall_over(case, event):
        return True
    if (found := _SERVER.search(event.text)) is not None:
        return _last(case).get((event.file, found["who"])) is True
    if (found := _PORT.search(event.text)) is None or _last(case).get((event.file, found["who"])) is not True:
        return False
    then, newest = moment(event), newest_moment(case)
    return then is not None and newest is not None and then + _LONG <= newest


@remembered
def _last(case: Case) -> dict[tuple[str, str], bool]:
    """By file and server or port: whether the last line about them says that they are back."""
    last: dict[tuple[str, str], bool] = {}
    for file, said in lines_by_file(case).items():
        for event in said:
            if (found := _SERVER.search(event.text) or _PORT.search(event.text)) is not None:
                last[file, found["who"]] = found["back"] is not None
    return last
