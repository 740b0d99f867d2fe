"""case → who was looked at twice, and stands elsewhere or has got on the second time: by stacks, headings, counters and bars."""

from __future__ import annotations

import re
from itertools import takewhile

from ..model.evidence.stacks import Frame
from ..model.patterns import regex
from .account import Seen
from .accounts import Account, accounts
from .case import Case
from .frame_tables import WaitKind
from .frames import wait_of
from .main_thread import main_thread
from .remembered import remembered


@remembered
def gets_on(case: Case) -> str | None:
    """The label of a subject that moves, or counts on, between two looks."""
    return moved(case) or _counts_on(case)


def moved(case: Case) -> str | None:
    """The label of a subject whose thread stands in different frames at two moments."""
    found = mover(case)
    return found.label if found is not None else None


def mover(case: Case) -> Account | None:
    """A subject whose thread stands in different frames at two moments."""
    found = [one for one in accounts(case) if one.ranks or one.seen]
    for one in found:
        if stands_elsewhere(one):
            return one
    if (clocked := _by_clock(found)) is not None:
        return clocked
    for later in found:
        if not later.who.later:
            continue
        for before in found:
            same = before is not later and before.ranks == later.ranks and not before.who.later
            if (
                same
                and before.said
                and later.said
                and not _TABLE.search(later.said)
                and _words(before).isdisjoint(_words(later))
            ):
                return later
    return None


# Connections, system calls and counters are no places in which somebody stands.
_TABLE = regex(
    r"^\s*(?:tcp6?|udp6?|ESTAB|LISTEN|SYN-SENT)\s+\d|^(?:\[pid +\d+\] )?\w+\([^\n]*\) += -?\d|"
    r"^\s*\w+_(?:err|errors?|phy|events|retrans\w*|sequence)\b[\s:]+\d",
    re.M,
)

# What tells two dumps of one subject apart in their headings: the time of day, or which one it is.
_WHEN = regex(
    r"\b\d{1,2}[:_ h]\d\d(?:[:_ ]\d\d)?\b|"
    r"\b(?:first|second|third|1st|2nd|3rd|next|one more|another|later|again|"
    r"(?:a|one|two|\d+) (?:min\w*|seconds|s|hours?) later)\b|"
    r"\b(?:dump|sample|look|snapshot|stack)s?[ _#]?\d\b|\bT\+?\d+\b",
    re.IGNORECASE,
)


def _by_clock(found: list[Account]) -> Account | None:
    """A subject that was looked at twice, by its headings, and stood elsewhere the second time."""
    moments: dict[str, list[Account]] = {}
    for one in found:
        if one.stacks and _WHEN.search(one.label):
            moments.setdefault(" ".join(_WHEN.sub(" ", one.label).split()), []).append(one)
    for seen in moments.values():
        last = [{str(frame.function) for frame in stack[-3:]} for one in seen for stack in one.stacks[:1]]
        if len(last) > 1 and all(before.isdisjoint(after) for before, after in zip(last, last[1:])):
            return seen[0]
        stacks = [stack for one in seen for stack in one.stacks[:1]]
        ends = {stack[-1].function for stack in stacks if stack and wait_of(stack).kind in _LONG_WORK}
        if len(stacks) > 1 and len(ends) == len(stacks):
            return seen[0]
    return None


# Work that is done in many pieces: of it also two looks that end in different functions show that it gets on.
_LONG_WORK = (WaitKind.CHECKPOINT, WaitKind.COMPILE)
# Counters of /proc/PID/io; a process that only polls reads and writes nothing.
_MOVED_BYTES = regex(r"^\s*(?P<name>rchar|wchar|read_bytes|write_bytes): *(?P<count>\d+)\s*$", re.M)
_SOME = 1 << 20
_REPEATED = regex(r"\b(?:each|every|per) (?:\d+ ?)?(?:s\b|sec\w*|min\w*|look|hour)|\b(?:looks|samples|times)\b", re.I)
_OF_ALL = regex(r"\b(?P<done>\d+) ?(?:of|/) ?(?P<all>\d+)\b")


def _counts_on(case: Case) -> str | None:
    """A subject of which a counter is shown several times, and grows: bytes read or written, pieces that are done."""
    for one in accounts(case):
        counters: dict[str, list[int]] = {}
        for found in _MOVED_BYTES.finditer(one.said):
            counters.setdefault(found["name"], []).append(int(found["count"]))
        if any(len(counts) > 1 and counts[-1] - counts[0] > _SOME for counts in counters.values()):
            return one.label
        done = [int(found["done"]) for found in _OF_ALL.finditer(one.said)] if _REPEATED.search(one.label) else []
        if len(done) > 2 and done == sorted(done) and done[0] < done[-1]:
            return one.label
    return _bar_moves(case)


def _bar_moves(case: Case) -> str | None:
    """A bar that was looked at again, by the headings, and stood further on."""
    before: dict[object, int] = {}
    for one in accounts(case):
        again = one.who.later or bool(_WHEN.search(one.label))
        for event in one.events if len(one.said.splitlines()) <= _SHORT else ():
            bar, percent = (event.fields.get("label"), event.fields.get("total")), event.fields.get("percent")
            if event.event == "progress.bar" and isinstance(percent, int):
                if again and bar in before and before[bar] < percent < 100:
                    return one.label
                before[bar] = percent
    return None


_SHORT = 6  # lines: what somebody copied at one look is no log


def of_the_worker(account: Account) -> list[Seen]:
    """All looks at the thread that does the work; of a dump that was cut off behind the head of a thread there is none."""
    main = main_thread(account)
    return [seen for seen in account.seen if seen.stack and _one_thread(main, seen)] if main is not None else []


def stands_elsewhere(account: Account) -> bool:
    """Whether the thread that does the work stands elsewhere at the last moment than at the first; helpers rest all the time."""
    return any(not any(_alike(first, last) for first in its[0] for last in its[-1]) for its in _looks(account))


def came_through(case: Case) -> bool:
    """Whether somebody was met in a call in which ranks wait for each other at one look, and out of it at another: that call was
    answered, or has just begun."""
    for looks in (looks for account in accounts(case) for looks in _looks(account)):
        within = {all(wait_of(one.stack).kind in _MEETINGS for one in look) for look in looks}
        if len(within) > 1:
            return True
    return False


_MEETINGS = (WaitKind.COLLECTIVE, WaitKind.BACKWARD)


def _looks(account: Account) -> list[list[list[Seen]]]:
    """What each tool saw of the thread that does the work, moment by moment, where there are several."""
    by_tool: dict[tuple[str, bool], dict[int, list[Seen]]] = {}
    for seen in of_the_worker(account) if account.again else ():
        by_tool.setdefault((seen.engine, seen.native), {}).setdefault(seen.moment, []).append(seen)
    looks = ([stacks for _, stacks in sorted(by_moment.items())] for by_moment in by_tool.values())
    return [its for its in looks if len(its) > 1]


def _one_thread(main: Seen, other: Seen) -> bool:
    """Whether another look shows the same thread: by its number, by its name where there is none; of nameless ones any may be."""
    mine, its = main.thread, other.thread
    if mine.tid is not None:
        return its.tid == mine.tid
    return mine.name is None or its.name in (None, mine.name)


def _alike(one: Seen, other: Seen) -> bool:
    """Whether two stacks are one place; of a row of gdb's ``info threads`` only the innermost frame is known.

    Two tools shorten paths in their own ways: functions and lines in Python tell. Below them native frames may move; of those
    that are shown, a look has the Python stack alone as well.
    """
    mine, its = one.text.split("\n"), other.text.split("\n")
    if _in_one_loop(one, other):
        return True
    if 1 in (len(mine), len(its)):
        return mine[0] == its[0] or _same_call(one.stack[-1], other.stack[-1])
    return mine == its or (bool(_python(one)) and _python(one) == _python(other))


# What a loop asks that waits for something to come about, whoever asks it.
_ASKED = frozenset(
    "exists lexists isfile isdir islink is_file is_dir getsize getmtime glob iglob _iglob _glob1 listdir scandir sleep poll "
    "is_set is_alive ready done empty qsize get_nowait".split()
)
_LONGEST_LOOP = 12  # lines: of a longer one two places are two pieces of work


def _in_one_loop(one: Seen, other: Seen) -> bool:
    """Whether a loop asks at both looks for what does not come: one function, and below it nothing but the question.

    Between two questions it stands at a line of its own, in ``sleep`` say, which is no Python function: there it is idle.
    """
    mine, its = _shown(one), _shown(other)
    shared = sum(1 for _ in takewhile(lambda pair: _function(pair[0]) == _function(pair[1]), zip(mine, its)))
    below = [stack[shared] for stack in (mine, its) if len(stack) > shared]
    asks = all(frame.function.rsplit(".", 1)[-1] in _ASKED for frame in below)
    rests = one.thread.active is False and other.thread.active is False
    if not shared or not asks or not (below or rests):
        return False
    callers = zip(mine[: shared - 1], its)
    near = abs(mine[shared - 1].line - its[shared - 1].line) <= _LONGEST_LOOP
    return near and all(before.line == after.line for before, after in callers)


def _shown(seen: Seen) -> tuple[Frame, ...]:
    """The frames that are Python's, outermost first."""
    return tuple(frame for frame in seen.stack if frame.file.endswith((".py", ">")))


def _function(frame: Frame) -> tuple[str, str]:
    return frame.file, frame.function


def _same_call(one: Frame, other: Frame) -> bool:
    """Whether two native frames are one call, of which but one look tells the source or the library."""
    bare = not (one.file and other.file) and one.library is not None and other.library is not None
    return bare and one.function == other.function


def _python(seen: Seen) -> list[tuple[str, int]]:
    """The functions and lines of the frames that are Python's."""
    return [(frame.function, frame.line) for frame in seen.stack if frame.file.endswith(".py")]


def _words(account: Account) -> set[str]:
    return {line.strip() for line in account.said.splitlines() if line.strip()}
