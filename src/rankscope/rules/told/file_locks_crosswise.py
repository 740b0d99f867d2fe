"""A list of file locks shows processes that each want a lock of the next one.

## What it means
Each process holds the lock of one file and waits for that of another, in different orders. None of them ever gets on, and the
kernel does not notice: it looks for such circles among locks of fcntl only, and not among those of flock.

## How it is recognised
In /proc/locks, or in what `lslocks` prints, those who wait (`->`, `WRITE*`) for a lock, and those who hold it, make a circle of
two or more processes.

## What to do
End one of them. Take the locks in one order everywhere, for example by the names of the files; or take the second one without
waiting (`LOCK_NB`), and give the first one back where that fails.

## How to prevent it
One lock in place of two; a time limit (`filelock.FileLock(path, timeout=60)`).

## Links
https://man7.org/linux/man-pages/man2/flock.2.html
https://man7.org/linux/man-pages/man5/proc_locks.5.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...analysis.case import Case, Member
from ...analysis.components import components
from ...analysis.file_lines import lines_by_file
from ...model.diagnosis import Certainty, Finding, Kind, Reason
from ...model.evidence.events import Event
from ...model.patterns import regex
from .. import make_rule
from .._say import who

# "1: -> FLOCK  ADVISORY  WRITE 5108 fe:00:2344860 0 EOF": the number joins who waits with who holds (proc_locks(5)).
_ROW = regex(
    r"^\s{0,9}(?P<lock>\d{1,9}): (?P<waits>-> ?)?\s{0,3}(?:FLOCK|POSIX|OFDLCK)\s{1,6}\w{1,12}\s{1,6}(?:READ|WRITE)\s{1,6}"
    r"(?P<pid>\d{1,9})\s{1,6}[0-9a-f]{2,8}:[0-9a-f]{2,8}:\d{1,20}\s"
)
# "python3 5108 FLOCK 0B WRITE* 0 0 0 /data/a.lock" (lslocks(8)): the size may be missing, and a star says that it waits.
_LISTED = regex(
    r"^\S{1,64}\s{1,20}(?P<pid>\d{1,9})\s{1,20}(?:FLOCK|POSIX|OFDLCK)\s{1,20}(?:\d\S{0,12}\s{1,20})?(?:READ|WRITE)(?P<waits>\*)?"
    r"\s{1,20}\d\s{1,20}\d{1,20}\s{1,20}\d{1,20}\s{1,20}(?P<lock>/\S.{0,400})$"
)
_SEVERAL = 6  # as many lines are shown


def check(case: Case) -> Iterator[Finding]:
    for rows in _listings(case) if not case.snapshot.live else ():
        after: dict[int, list[int]] = {}
        for lock, waits, pid, _ in rows:
            if waits:
                holders = [other for name, wanted, other, _ in rows if name == lock and not wanted and other != pid]
                after.setdefault(pid, []).extend(holders)
        for group in components(after):
            if len(group) > 1:
                yield _finding(case, sorted(group), [one for _, _, pid, one in rows if pid in group])


def _listings(case: Case) -> Iterator[list[tuple[str, bool, int, Event]]]:
    """The rows of each list by itself: another one in the same file is of another moment, and numbers its locks anew."""
    for lines in lines_by_file(case).values():
        rows: list[tuple[str, bool, int, Event]] = []
        for line in lines:
            row = _read(line)
            if row is None and not rows:
                continue
            if row is None or row[:2] == ("1", False):
                yield rows
                rows = []
            if row is not None:
                rows.append((*row, line))
        yield rows


def _read(line: Event) -> tuple[str, bool, int] | None:
    """The lock of a row, whether somebody waits for it, and who."""
    found = _ROW.match(line.text) or _LISTED.match(line.text)
    return (found["lock"], bool(found["waits"]), int(found["pid"])) if found else None


def _finding(case: Case, pids: Sequence[int], lines: list[Event]) -> Finding:
    members = [one for pid in pids for one in _members(case, pid)]
    names = {one.ref.pid: who(one.process) for one in members}
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
        title=f"{len(pids)} processes wait for file locks of each other: "
              + ", ".join(names.get(pid, f"pid {pid}") for pid in pids[:_SEVERAL]),
        processes=tuple(one.process for one in members),
        because=tuple(Reason(one.text.strip()[:200], "locks") for one in lines[:_SEVERAL]),
        next=("lslocks -o PID,TYPE,MODE,PATH,BLOCKER   # names the files",),
    )  # fmt: skip


def _members(case: Case, pid: int) -> list[Member]:
    return [one for one in case if one.ref.pid == pid][:1]


RULE = make_rule(__name__, __doc__, "lock-order-deadlock", 20, check)
