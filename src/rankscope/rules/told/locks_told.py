"""Somebody wrote down who holds which lock and who wants it, and the two wait for each other.

## What it means
One thread holds a lock and waits: for a second lock, or for a thread to end or to answer. The other one holds that second lock, or is that
thread, and wants the first lock. Each step is harmless by itself; the order of the steps differs between two paths of the program.

## How it is recognised
The same lock's name is held in one thread's lines (`with self.shutdown_lock`, `holds pool._mutex`, `has the head lock`) and wanted in another's
(`acquire …`, `waits for …`, `blocked on …`), and the holder waits itself.

## What to do
Let go of the lock before joining or calling back; take the locks in one order everywhere. `py-spy dump --locals` or gdb's `info locals` prove
who holds what.

## How to prevent it
No joins, callbacks or foreign code inside a `with lock:` block. Mechanism: https://github.com/python/cpython/issues/125451,
https://github.com/python/cpython/issues/106883
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from ...analysis.accounts import PROSE_LINES, Account, accounts
from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import kind_of
from ...model.diagnosis import Finding
from ...model.patterns import regex
from .. import make_rule
from ._findings import finding
from ._signs import Hit, Sign

_NAME = r"[`'\"]?(?P<name>[\w.>:-]*(?:lock|mutex|mtx|_cv|cond(?:ition)?|guard|monitor)[\w.]*)[`'\"]?"
_HELD = regex(
    rf"\b(?:holds?|holding|held|has|owns?|owning|keeps|with|under|inside)\b(?: (?:the|its|a))* {_NAME}",
    re.IGNORECASE,
)
_WANTED = regex(
    rf"\b(?:acquir\w+|wants?|wait(?:s|ing)? (?:for|on|in|at)|(?:block(?:s|ed|ing)|stuck|stands|hangs) (?:on|in|at|by)|lock(?:s|ing)?|needs?|takes?|asks for|"
    rf"enters?)\b:?(?: (?:the|its|lock|a))*[ :.]{{1,2}}{_NAME}"
    rf"|\b(?P<also>(?=\w*(?:lock|mutex))\w+)(?:\.(?:acquire|lock)\b|\s*$)",
    re.IGNORECASE | re.MULTILINE,
)
_WAITS = regex(
    r"\b(?:join\w*|wait\w*|acquire\w*|block(?:s|ed|ing)|stuck|stands|hangs|wants?|result|recv|synchronize|lock)\b|_wait\b|Mutex::Lock",
    re.IGNORECASE,
)
_NO_LOCK = regex(
    r"^(?:self\.?|the|a|an|lock|locks?|mutex|unlock\w*|block\w*|deadlock\w*|clock|.*\bgil\b.*|condition|.*filelock.*|"
    r".*\.lock|flock|spinlock|conditions|guard|monitor)$",
    re.IGNORECASE,
)
_OWNS = regex(r"\b(?:holds?|holding|held|owns?|owning|has)\b[^\n]{0,30}\b\w*(?:lock|mutex)\w*", re.IGNORECASE)
_TAKEN = regex(
    rf"\b(?:with|acquires?|takes?|locks?|holds?|lock_guard|scoped_lock)\b[ (:]{{1,3}}(?:the |its )?{_NAME}",
    re.IGNORECASE,
)
_SHORT = 8000
_OWN_LOCK = {"self.lock", "self._lock", "self.mutex", "this.mutex"}
_STEPS = (
    "py-spy dump --locals --pid PID   # both stacks and the locks' names",
    "let go of the lock before join() or a callback",
)


def check(case: Case) -> Iterator[Finding]:
    found = (
        []
        if case.snapshot.live
        else [
            *_crossed(case),
            *_both_hold(case),
            *_both_orders(case),
            *_below_each_other(case),
            *_named_as_holders(case),
        ]
    )
    if found:
        yield finding(RULE, case, found, "a thread holds a lock that another wants, and waits for that other", _STEPS)


def _crossed(case: Case) -> Iterator[Hit]:
    """A lock that is held in one passage, whose thread waits, and wanted in another."""
    passages = [(one, part) for one in accounts(case) for part in _passages(one)]
    wanted: dict[str, set[int]] = {}
    for at, (_, part) in enumerate(passages):
        for name, _ in _names(_WANTED, part):
            wanted.setdefault(name, set()).add(at)
    for at, (account, part) in enumerate(passages):
        for name, line in _names(_HELD, part):
            if len(wanted.get(name, set()) | {at}) > 1 and _WAITS.search(_HELD.sub("", part)):
                yield Hit(Sign("", f"{name} is held by a thread that waits, and wanted by another"), account, line)
                return


def _both_orders(case: Case) -> Iterator[Hit]:
    """Two passages that take the same two locks, one in the opposite order of the other."""
    orders: dict[tuple[str, str], str] = {}
    for account in accounts(case):
        for part in _passages(account) if len(account.said) < _SHORT else ():
            taken = list(dict.fromkeys(name for name, _ in _names(_TAKEN, part)))
            for first, second in itertools.combinations(taken, 2):
                if orders.get((second, first), part) != part:
                    yield Hit(Sign("", f"{first} and {second} are taken in both orders"), account, part[:200])
                    return
                orders[first, second] = part


_BELOW = regex(
    r"\b(?:with|in|at|for|on|acquires?|wants?|takes?) [`'\"]?(?:with )?(?P<inner>[\w.]*(?:lock|mutex)\w*)[`'\"]?[^;\n]{0,60}?\b(?:below|inside|under|while (?:holding|inside|in)|within|holding)\b[^;\n]{0,20}?[`'\"]?(?:with )?(?P<outer>[\w.]*(?:lock|mutex)\w*)",
    re.IGNORECASE,
)


def _below_each_other(case: Case) -> Iterator[Hit]:
    """One lock is taken inside another, and elsewhere the other way round."""
    orders: set[tuple[str, str]] = set()
    for account in accounts(case):
        for found in _BELOW.finditer(account.prose):
            inner, outer = found["inner"].lower(), found["outer"].lower()
            if inner != outer and (outer, inner) in orders:
                yield Hit(Sign("", f"{inner} and {outer} are taken inside each other"), account, found.group()[:200])
                return
            orders.add((inner, outer))


def _both_hold(case: Case) -> Iterator[Hit]:
    """Two threads that each stand in a lock, and of each it is said that it holds one."""
    found = [
        one
        for one in accounts(case)
        if _OWNS.search(one.said)
        and any(kind_of(frame) is WaitKind.LOCK for stack in one.stacks for frame in stack[-3:])
    ]
    if len(found) > 1:
        yield Hit(Sign("", "two threads each hold a lock and wait for one"), found[0], "")


_HOLDER = regex(
    r"\bwait\w*\b[^\n]{0,60}\b(?:hold(?:er|ers|s)?|held by|owner|owned by)\W{1,3}(?P<who>[A-Za-z][\w.-]*)",
    re.IGNORECASE,
)


def _named_as_holders(case: Case) -> Iterator[Hit]:
    """Two logs that wait for a lock, each of which names the other as its holder."""
    named = {
        one.label: names
        for one in accounts(case)
        if len(one.said) < _SHORT and (names := {_bare(found["who"]) for found in _HOLDER.finditer(one.said)})
    }
    for account in accounts(case) if len(named) > 1 else ():
        mine = named.get(account.label, set())
        for other in named if mine else ():
            if other != account.label and _about(other, mine) and _about(account.label, named[other]):
                yield Hit(Sign("", f"{account.label} and {other} wait for locks of each other"), account, "")
                return


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _about(label: str, names: set[str]) -> bool:
    """Whether a label begins with one of some names."""
    return any(len(name) > 2 and _bare(label).startswith(name) for name in names)


def _passages(account: Account) -> list[str]:
    """What is said of one thread: a line that names it, or all of a short text that lists frames."""
    lines = account.said.splitlines()[:PROSE_LINES]
    told = [
        line
        for line in lines
        if re.match(r"\W*(?:[\w ]{0,24}\bthread|main|worker|T\d|[A-Z])\b[^:>]{0,40}[:>]", line, re.IGNORECASE)
    ]
    return told if len(told) > 1 else [account.prose]


def _names(pattern: re.Pattern[str], text: str) -> Iterator[tuple[str, str]]:
    for found in pattern.finditer(text):
        groups = found.groupdict()
        full = (groups.get("name") or groups.get("also") or "").strip(".").replace("->", ".").lower()
        name = full if full in _OWN_LOCK else full.rsplit(".", 1)[-1]
        if name in _OWN_LOCK or (len(name) > 3 and not _NO_LOCK.match(name)):
            yield name, found.group().strip()


RULE = make_rule(__name__, __doc__, "lock-order-deadlock", 32, check)
