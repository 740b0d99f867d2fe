"""Answers of the operating system that appear in any program's text: errno by its words, signals, limits."""

# ruff: noqa: E501  (a pattern is one line, so that it can be compared with the format string it was made from)
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...model.evidence.events import Event
from ...model.patterns import regex
from ..lines import Line
from ._table import event, fields_of, pattern

NAME = "system"
# errno(3): the words that strerror gives, and the number.
ERRNO = {
    "No space left on device": 28, "Disk quota exceeded": 122, "Too many open files": 24, "Stale file handle": 116, "Input/output error": 5,
    "Transport endpoint is not connected": 107, "No locks available": 37, "Function not implemented": 38, "Cannot allocate memory": 12,
    "Resource temporarily unavailable": 11, "Address already in use": 98, "Connection refused": 111, "Connection reset by peer": 104,
    "Broken pipe": 32, "Connection timed out": 110, "No route to host": 113, "Network is unreachable": 101, "Read-only file system": 30,
    "Operation not supported": 95, "Host is down": 112, "Operation not permitted": 1, "File too large": 27, "Text file busy": 26,
    "Name or service not known": -2, "Temporary failure in name resolution": -3,
}  # fmt: skip
NEEDLES = (
    *ERRNO,
    "Errno",
    "killed by signal",
    "Bus error",
    "bus error",
    "shared memory",
    "unlimit",
    "ulimit",
    "%|",
    "% Completed |",
    "it/s]",
    "fork()",
    "Segmentation fault",
    "core dumped",
    "Killed",
    "rlimit",
    "RLIMIT",
)

_ERRNO = regex("|".join(map(re.escape, ERRNO)))
_NUMBER = regex(r"\[Errno (\d+)\]")
# libpython.py in gdb (``py-list``) looks for the source of code that has none: no error of the job.
_OF_GDB = regex(r"\s*Unable to open <[^<>\n]{1,80}>: ")
_TABLE = (
    pattern("loader.worker_died", r"DataLoader worker \(pid\(?s?\)? ?(?P<pid>\d+)[^)]*\) (?:is killed by signal: (?P<signal>[\w ]+?)\.|exited unexpectedly(?: with exit code (?P<exitcode>-?\d+))?)"),
    pattern("system.bus_error", r"[Uu]nexpected bus error encountered in worker|killed by signal: Bus error|\bBus error\b|SIGBUS"),
    pattern("system.killed", r"^\s*Killed\s*$|killed by signal: Killed|\bSIGKILL\b"),
    pattern("python.fork_warning", r"This process \(pid=(?P<pid>\d+)\) is multi-threaded, use of (?P<call>\w+)\(\) may lead to deadlocks"),
    pattern("python.fork_warning", r"os\.fork\(\) was called\. os\.fork\(\) is incompatible with multithreaded code|huggingface/tokenizers: The current process just got forked, after parallelism has already been used"),
    pattern("progress.bar", r"(?=[^|%\r]{0,140}%(?: Completed )?\|)(?:(?P<label>[^|%\r]{0,120}?):? {1,8})?(?P<percent>\d{1,3})%(?: Completed )?\|(?:[^|]{0,400}\|)? *(?P<done>[\d.]+)[kMG]?/(?P<total>[\d.]+)[kMG]? \[(?P<elapsed>[\d:]+)<(?P<left>[\d:?]+)"),
    pattern("progress.count", r"(?:(?P<label>[^\[\]]{0,120}?): )?(?P<done>\d{1,18}) ?(?P<unit>[a-zA-Z]{1,12}) \[(?P<elapsed>\d{1,4}:[\d:]{1,12}), {1,8}(?P<rate>[\d.?]+) ?(?:s/)?"),
)  # fmt: skip


class Reader:
    """The table, and errno wherever it is named."""

    busy = False

    def feed(self, line: Line) -> Iterator[Event]:
        for row in _TABLE:
            for found in row.regex.finditer(line.text):
                yield event(row.event, line, fields_of(found))
        named = _ERRNO.search(line.text)
        number = None if _OF_GDB.match(line.text) else _NUMBER.search(line.text)
        if named or number:
            code = ERRNO[named.group()] if named else int(number.group(1)) if number else 0
            yield event("os.error", line, {"errno": code, "text": named.group() if named else ""})

    def close(self) -> Iterable[Event]:
        return ()
