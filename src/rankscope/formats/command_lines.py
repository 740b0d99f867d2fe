"""Rows of process tables, without what is nobody's word: code given to an interpreter, what is searched for, kernel threads.

Of spawned children ``multiprocessing`` puts a line of code there (``-c from multiprocessing.spawn import …``), and who looks for
troubles with grep has all their names in its arguments.
"""

from __future__ import annotations

import re

from ..model.patterns import regex

_CODE = regex(
    r"(?P<kept>\S*(?:python|perl|ruby|node|bash|sh)[\d.]*(?: -[A-Za-z]+){0,4}? -[A-Za-z]{0,4}[ce]) .*", re.DOTALL
)
_SEARCH = regex(r"(?P<kept>(?:\S*/)?(?:[efz]?grep|rg|ag|ack|sed|[gm]?awk|find|pgrep|pkill)) .*", re.DOTALL)
_KERNEL = regex(r"\[[\w./:+>-]+\]$")


def without_code(row: str, command: str) -> str:
    """The line of a row, its ``command`` (the last column) cut where it says nothing of the process."""
    at = row.rfind(command) if command else -1
    return row if at <= 0 else row[:at] + _kept(command)


def _kept(command: str) -> str:
    if _KERNEL.match(command):
        return "[kernel thread]"
    found = _CODE.match(command) or _SEARCH.match(command)
    return found["kept"] if found else command
