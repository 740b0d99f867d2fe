"""The caller of a pool waits for a result, and the worker that had the task was killed or replaced.

## What it means
`multiprocessing.Pool` starts a new worker in place of one that ended, and forgets what the old one had in hand. `get()` of that result never returns, and
all workers that are there are idle and well.

## How it is recognised
The caller stands in `get` or `wait` of `multiprocessing/pool.py`. A list of its children (`ps` with `etime` or `lstart`) shows one that is minutes younger than the others, who were
started together; likely if it has done no work (`time`), if the kernel tells of the crash of a process with a number among theirs, or if somebody says that it hangs. Or somebody sent a deadly signal to a process that a table or a tree shows as its child, or two lists of the caller's
children show as many, most of them the same, and one that is new: possible, and likely where somebody says that it hangs. A worker whose stack goes out from
`_maintain_pool` was made in place of another: likely, where all workers that are shown are idle, and some of them are of the beginning. Workers that the program itself renews (`maxtasksperchild`) tell nothing.

## What to do
Find who killed it: `journalctl --since … | grep -i -e kill -e oom`, limits of CPU time on login nodes, a clean-up of old processes. Start again; give `get()` a time-out.

## How to prevent it
`concurrent.futures.ProcessPoolExecutor` raises BrokenProcessPool. Mechanism: https://github.com/python/cpython/issues/66587
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import Account, accounts, written
from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import wait_of
from ...analysis.identity import name_of
from ...model.diagnosis import Finding
from ...model.evidence.events import Event
from ...model.evidence.stacks import Stack
from ...model.patterns import regex
from ...model.words import span
from .. import make_rule
from ._findings import finding
from ._lines import events
from ._signs import LIKELY, POSSIBLE, Hit, Sign
from ._wordings import HALTS, POOL_WAITS

_STEPS = ("journalctl --since '2 hours ago' | grep -i -e kill -e oom", "ps -o pid,ppid,lstart,args --ppid PARENT")
_RENEWED = r"\bmax_?tasks_?per_?child\b"
_DEADLY = r"SIG(?:KILL|TERM|SEGV|ABRT|BUS|XCPU)"
# Who sends a signal, or sees its end, and the process that it names.
_SENT = regex(
    rf"\b(?:{_DEADLY}|signal (?:9|15|11|6|7)|[Kk]ill(?:ed|ing)?|[Tt]erminat(?:ed|ing))\b[^\n]{{0,24}}?\b(?:pid|process|PID|Process)\W{{0,3}}(?P<to>\d{{1,9}})\b|"
    rf"\bt?kill\((?:\d+, )?(?P<asked>\d{{1,9}}), {_DEADLY}\) += 0|\bkill (?:-9|-KILL|-s (?:KILL|9)) (?P<typed>\d{{1,9}})\b|"
    r"\b(?:pid|process|PID|Process) (?P<who>\d{1,9})\b[^\n]{0,40}\b(?:dumped core|(?:was|got) killed|killed by|terminated by signal)\b"
)
_FOR_MEMORY = regex(r"\boom\b|out of memory|oom[-_ ]?kill|memory pressure|VmRSS|anon-rss", re.IGNORECASE)


def check(case: Case) -> Iterator[Finding]:
    waiting = [one for one in accounts(case) if one.find(POOL_WAITS) or _awaits(one)]
    if case.snapshot.live or not waiting or any(one.find(_RENEWED) for one in accounts(case)):
        return
    found = [*_killed(case, waiting), *_renewed(case, waiting), *_younger(case, waiting), *_made_up_for(case, waiting)]
    if found:
        made = finding(RULE, case, found[:1], "a pool's caller waits for the result of a worker that is gone", _STEPS)
        yield replace(made, compared=made.certainty is LIKELY)


def _killed(case: Case, waiting: list[Account]) -> Iterator[Hit]:
    """A child of the caller that got a deadly signal, and of which no stack is shown."""
    callers = {ref.pid for one in waiting for ref in one.refs}
    shown = {ref.pid for one in accounts(case) for ref in one.refs}
    for account in accounts(case):
        for event in account.events:
            sent = _SENT.search(event.text)
            pid = int(next(filter(None, sent.groups()), 0)) if sent and not _FOR_MEMORY.search(event.text) else 0
            if pid and pid not in shown and any(_lists(one, pid, callers) for one in case.events):
                yield Hit(Sign("", "a worker of the pool was killed", speaker=False), account, event.text.strip())
                return


def _lists(event: Event, pid: int, callers: set[int]) -> bool:
    """Whether a row of ``ps``, or a line of a tree, shows a process as a child of a caller."""
    if event.event == "proc.row":
        return event.pid == pid and event.fields.get("ppid") in callers
    named = [int(number) for number in _NUMBER.findall(event.text)] if str(pid) in event.text else []
    return event.event == "text.line" and any(
        one in callers and pid in named[at + 1 :] for at, one in enumerate(named) if _TREE.search(event.text)
    )


_NUMBER = regex(r"\b\d{1,9}\b")
_TREE = regex(r"-[-+]-|[-+`|]- ?|└|├|\\_")  # pstree, systemctl status, ps --forest


def _renewed(case: Case, waiting: list[Account]) -> Iterator[Hit]:
    """Two lists of the caller's children, as long, in which most are the same: who is gone was replaced."""
    callers = {ref.pid for one in waiting for ref in one.refs}
    lists: dict[tuple[object, str], dict[int, Event]] = {}
    for account in accounts(case):
        for row in account.events:
            if row.event == "proc.row" and row.pid is not None and row.fields.get("ppid") in callers:
                lists.setdefault((row.fields["ppid"], account.label), {})[row.pid] = row
    for (parent, label), before in lists.items():
        for (other, again), after in lists.items():
            gone, new = sorted(before.keys() - after.keys()), sorted(after.keys() - before.keys())
            few = 0 < len(gone) == len(new) and 2 * len(gone) < len(before)
            if parent == other and label != again and few and max(gone) < min(new):
                says = f"of the children of {parent} {gone[0]} is gone, and {new[0]} is there in its place"
                hangs = any(one.find(HALTS, prose=True) for one in accounts(case))
                sign = Sign("", says, LIKELY if hangs else POSSIBLE, speaker=False)
                yield Hit(sign, waiting[0], after[new[0]].text.strip())
                return


def _younger(case: Case, waiting: list[Account]) -> Iterator[Hit]:
    """One list of the caller's children, most of them started together and a few long after: these replaced others."""
    callers = {ref.pid for one in waiting for ref in one.refs}
    families: dict[tuple[object, ...], dict[int, Event]] = {}
    asked = _asked_for(case)
    for row in events(case, "proc.row"):
        parent = row.fields.get("ppid", asked.get((row.file, row.line)))
        if row.pid is not None and parent in callers and _born(row) is not None:
            alike = row.host, row.file, parent, row.fields.get("command"), "age_s" in row.fields
            families.setdefault(alike, {})[row.pid] = row
    for rows in families.values():
        first = min(_born(row) or 0 for row in rows.values())
        late = [row for row in rows.values() if (_born(row) or 0) - first > _TOGETHER_S]
        old = [row for row in rows.values() if row not in late]
        if late and _FEW * len(late) <= len(rows):
            after = min(_born(row) or 0 for row in late) - first
            says = f"a worker was started {span(after)} after the others: it replaced one"
            crash = _crashed_among(case, old)
            hangs = any(one.find(HALTS, prose=True) for one in accounts(case))
            sure = hangs or crash is not None or all(_rests(row, old) for row in late)
            line = crash.text if crash is not None else late[0].text
            yield Hit(Sign("", says, LIKELY if sure else POSSIBLE, speaker=False), waiting[0], line.strip())
            return


def _asked_for(case: Case) -> dict[tuple[str, int], int]:
    """Rows of tables that show the children of one process alone (``ps --ppid``), by file and line: whose they are."""
    found = {}
    for account in accounts(case):
        parent = _parent_in(account.label)
        for event in account.events:
            if event.event == "proc.row" and parent:
                found[event.file, event.line] = parent
            elif event.event == "text.line":
                parent = _parent_in(event.text) or parent
    return found


def _parent_in(command: str) -> int:
    told = _CHILDREN_OF.search(command)
    return int(told["parent"]) if told else 0


_CHILDREN_OF = regex(r"\bps\b[^\n]{0,80} --ppid[ =]{1,2}(?P<parent>\d{1,9})\b")


def _made_up_for(case: Case, waiting: list[Account]) -> Iterator[Hit]:
    """A worker that its pool has made in place of another, by its own frames: a fork copies those of its maker. Where all that
    are shown are idle, those of the beginning too, nobody has the task for whose result the caller waits."""
    workers = [(one, stack) for one in accounts(case) for stack in one.stacks if _WORKER in _own_names(stack)]
    new = [(one, stack) for one, stack in workers if _MAKES_UP in _own_names(stack)]
    all_rest = all(wait_of(stack).kind in _RESTING for _, stack in workers)
    callers = {ref for one in waiting for ref in one.refs}
    if (
        new
        and len(new) < len(workers)
        and all_rest
        and callers.isdisjoint(ref for one, _ in workers for ref in one.refs)
    ):
        account, stack = new[0]
        says = "a worker was made in place of another, as its stack tells, and all are idle"
        yield Hit(Sign("", says, LIKELY, speaker=False), account, written(stack).split("\n", 1)[0])


def _awaits(account: Account) -> bool:
    """Whether a subject has the threads of a pool and waits for a result of it."""
    names = [_own_names(stack) for stack in account.stacks]
    keeps = any("_handle_results" in one or "_handle_workers" in one for one in names)
    return keeps and any({"get", "wait"} <= one and _WORKER not in one for one in names)


def _own_names(stack: Stack) -> set[str]:
    """The functions of multiprocessing in a stack."""
    return {name for path, name in map(name_of, stack) if path.startswith(_POOLS)}


_POOLS = ("multiprocessing/", "multiprocess/", "billiard/")
_WORKER, _MAKES_UP = "worker", "_maintain_pool"
_RESTING = (WaitKind.IDLE, WaitKind.QUEUE)

_TOGETHER_S = 60  # a pool starts its workers one after the other
_FEW = 3
_RESTS = 100  # so many times less work than the others has who got no task


def _born(row: Event) -> int | None:
    """When a process was started, on a clock that all rows of its table share."""
    age, began = row.fields.get("age_s"), row.fields.get("began_s")
    return -age if isinstance(age, int) else began if isinstance(began, int) and began else None


def _rests(row: Event, old: list[Event]) -> bool:
    """Whether a process has done nothing, and those that were there before it have worked."""
    mine, theirs = row.fields.get("worked_s"), [one.fields.get("worked_s") for one in old]
    worked = [one for one in theirs if isinstance(one, int)]
    return isinstance(mine, int) and len(worked) == len(old) and _RESTS * max(mine, 1) <= min(worked)


def _crashed_among(case: Case, old: list[Event]) -> Event | None:
    """What the kernel tells of the crash of a process that was started among others, and is not listed with them."""
    pids = [row.pid or 0 for row in old]
    crashes = events(case, "kernel.segfault")
    return next(
        (one for one in crashes if min(pids) - 1 <= (one.pid or 0) <= max(pids) + 1 and one.pid not in pids), None
    )


RULE = make_rule(__name__, __doc__, "child-dead", 36, check)
