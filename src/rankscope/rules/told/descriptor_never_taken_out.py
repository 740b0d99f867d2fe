"""An event loop is woken again and again by a descriptor that nobody takes out.

## What it means
The other end of a pipe or socket is closed, so that `epoll_wait` and `poll` return at once, each time, until somebody closes the
descriptor or takes it out of the set. The program has lost sight of it: it was closed below the loop, or belonged to a child that
is gone. The loop runs at full speed and does nothing; requests and timers of others hardly get a turn.

## How it is recognised
strace shows the same descriptor with `EPOLLHUP` or `EPOLLERR` (`POLLHUP`, `POLLERR`, `POLLNVAL`), and nobody reads or closes it,
or takes it out (`EPOLL_CTL_DEL`); or attempts to take descriptors out that fail (`ENOENT`, `EBADF`), several times. It is likely
where the process uses a whole CPU.

## What to do
`ls -l /proc/PID/fd` names the descriptor, `rankscope stacks pid:PID` the loop. Restart that process; look among the changes of
the library that has the loop (kombu, billiard, gevent, tornado, libuv) for a descriptor that it forgets.

## How to prevent it
Take a descriptor out of the loop before it is closed, in the thread that runs the loop. Mechanism: epoll(7), "Will closing a file
descriptor cause it to be removed from all epoll interest lists?"; https://github.com/celery/celery/issues/1359
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.accounts import Account, accounts
from ...analysis.case import Case
from ...model.diagnosis import Finding
from ...model.patterns import regex
from .. import make_rule
from ._findings import finding
from ._signs import LIKELY, POSSIBLE, Hit, Sign

_STEPS = ("ls -l /proc/PID/fd   # what the descriptor is", "rankscope stacks pid:PID --native")
_GONE = regex(
    r"EPOLL(?:HUP|ERR)\b[^{}\n]{0,24}\{(?:u32|fd)=(?P<epoll>\d{1,9})|"
    r"\{fd=(?P<poll>\d{1,9}), revents=[A-Z|]{0,40}POLL(?:HUP|ERR|NVAL)\b"
)
_TAKEN = regex(
    r"\b(?:read|readv|recv|recvfrom|recvmsg|close|shutdown)\((?P<used>\d{1,9})\b(?![^\n]*\bEAGAIN\b)|"
    r"\bepoll_ctl\(\d{1,9}, EPOLL_CTL_DEL, (?P<out>\d{1,9})\b[^\n]*\)\s{1,40}= 0"
)
_IN_VAIN = regex(r"\bepoll_ctl\(\d{1,9}, EPOLL_CTL_DEL, \d{1,9}\b[^\n]*= -1 (?:ENOENT|EBADF)\b")
_SEVERAL = 3
# A whole CPU, in words or in a row of top (S, %CPU): disks and bars of progress have percents as well.
_BUSY = (
    r"\b(?:9\d|1\d\d)(?:\.\d{1,2})?[ _%]{1,3}(?:of (?:a|one) )?CPU\b|\bCPU\b[^\n\d]{0,24}(?:9\d|1\d\d)(?:\.\d{1,2})? ?%|"
    r"\bspin(?:s|ning)?\b|\bR +(?:9\d|1\d\d)(?:\.\d)? "
)


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live:
        return
    busy = any(one.find(_BUSY) for one in accounts(case))
    if found := [hit for one in accounts(case) if (hit := _stays(one, busy)) is not None]:
        yield finding(
            RULE, case, found, "an event loop is woken without end by a descriptor that nobody takes out", _STEPS
        )


def _stays(account: Account, busy: bool) -> Hit | None:
    """What strace shows of a loop that does not get rid of a descriptor; behind one line alone its end may follow."""
    sure = LIKELY if busy else POSSIBLE
    lines = [event.text for event in account.events if event.event == "text.line"]
    vain = [line for line in lines if _IN_VAIN.search(line)]
    if len(vain) >= _SEVERAL:
        says = "descriptors are taken out of the loop that are not in it, again and again"
        return Hit(Sign("", says, sure), account, vain[0])
    taken = {found["used"] or found["out"] for line in lines if (found := _TAKEN.search(line))}
    gone = [line for line in lines if any(not taken & {one["epoll"] or one["poll"]} for one in _GONE.finditer(line))]
    if gone and (busy or len(gone) >= _SEVERAL):
        says = "a descriptor is reported as closed at its other end, and nobody takes it out"
        return Hit(Sign("", says, sure), account, gone[0])
    return None


RULE = make_rule(__name__, __doc__, "rank-stuck-in-user-code", 36, check)
