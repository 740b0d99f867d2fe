"""``strace``: the system call in which each process stands, also with ``-f``, ``-p``, ``-y``, time stamps and resumed calls."""

# ruff: noqa: E501  (a pattern or a row of a table is one line)
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..model.evidence.events import Event
from ..model.patterns import regex
from .lines import Line
from .records import Record, read_all

NAME = "strace"

_CALL = regex(
    r"^\s*(?:\[pid +(?P<pid>\d{1,18})\] |(?P<pid2>\d{1,18}) +)?(?:\d\d:\d\d:\d\d(?:\.\d+)? | {0,12}\d+\.\d{6} )?(?P<call>[a-z_0-9]{2,30})\((?P<args>.*?)(?P<end>\)\s{1,99}= (?P<result>-?\w+).*|<unfinished \.\.\.>|<detached \.\.\.>|strace: Process \d+ detached|\)?\s{0,99})$"
)
_RESUMED = regex(r"^\s*(?:\[pid +(?P<pid>\d{1,18})\] |(?P<pid2>\d{1,18}) +)?.*<\.\.\. (?P<call>\w+) resumed>")
# Before strace 4.11 without its name, and with how to leave it.
_ATTACH = regex(r"^(?:strace: )?Process (\d{1,18}) attached(?: - interrupt to quit|$|\s)")
_WAITS = frozenset({"wait4", "waitpid", "waitid"})
_CHILD = regex(r"(?:P_PID, )?(?P<child>[1-9]\d{0,9}), [^\n]{0,400}\bWNOHANG\b")
_CALL_NAMES = """
    futex read write pread64 pwrite64 readv writev recvfrom recvmsg sendto sendmsg poll ppoll select pselect6 epoll_wait epoll_pwait
    accept accept4 connect wait4 waitid waitpid nanosleep clock_nanosleep flock fcntl openat open close stat fstat newfstatat statx lstat
    fsync fdatasync ioctl mmap munmap restart_syscall sched_yield rt_sigsuspend pause semop semtimedop msgrcv getdents64 unlink rename mkdir access
    rt_sigtimedwait io_getevents io_uring_enter lseek brk madvise clone fork vfork execve exit_group kill tgkill dup socket bind listen
"""
_CALLS = frozenset(_CALL_NAMES.split())
_OFTEN = 3  # who asks so often for one child waits for it


class Reader:
    """Keeps the last call per pid; the calls that did not return are told at the end, with how often they were made."""

    busy = False
    idle = True

    def __init__(self) -> None:
        self._last: dict[int, tuple[Line, str, str, str | None]] = {}
        self._failed: dict[tuple[str, str], tuple[Line, int, str]] = {}
        self._polled: dict[int, tuple[Line, int, int]] = {}  # by child: the first line, how often, who
        self._alone: int | None = None  # the process that it was attached to, where it was one

    def feed(self, line: Line) -> Iterator[Record]:
        if attach := _ATTACH.match(line.text):
            self._alone = int(attach.group(1)) if self._alone is None else 0
            yield Event("strace.attached", line=line.number, pid=int(attach.group(1)), text=line.text)
        elif resumed := _RESUMED.match(line.text):
            self._last.pop(int(resumed["pid"] or resumed["pid2"] or 0), None)
        elif (found := _CALL.match(line.text)) and found["call"] in _CALLS:
            self._take(line, found)

    def _take(self, line: Line, found: re.Match[str]) -> None:
        pid = int(found["pid"] or found["pid2"] or self._alone or 0)
        if found["call"] in _WAITS and found["result"] == "0" and (child := _CHILD.match(found["args"])):
            first, count, _ = self._polled.get(int(child["child"]), (line, 0, pid))
            if count or len(self._polled) < 4096:
                self._polled[int(child["child"])] = first, count + 1, pid
        if len(self._last) < 65536:
            self._last[pid] = (line, found["call"], found["args"].rstrip(", ")[:500], found["result"])
        if found["result"] == "-1" and (name := re.search(r"= -1 (E\w+)", found["end"])):
            key = (found["call"], name.group(1))
            first, count, args = self._failed.get(key, (line, 0, found["args"][:500]))
            self._failed[key] = (first, count + 1, args)

    def close(self) -> Iterable[Record]:
        out = []
        for pid, (line, call, args, result) in self._last.items():
            if result is None:
                target = re.search(r"\d+<([^>]+)>", args)
                out.append(Event("strace.blocked", line=line.number, pid=pid or line.pid, text=line.text, fields={
                    "call": call, "args": args, **({"target": target.group(1)} if target else {})}))  # fmt: skip
        for child, (line, count, pid) in self._polled.items():
            if count >= _OFTEN:
                out.append(Event("strace.polls_child", line=line.number, pid=pid or line.pid, text=line.text, fields={
                    "child": child, "count": count}))  # fmt: skip
        for (call, name), (line, count, args) in self._failed.items():
            out.append(
                Event(
                    "strace.failed",
                    line=line.number,
                    text=line.text,
                    fields={"call": call, "error": name, "count": count, "args": args},
                )
            )
        self._last, self._failed, self._polled, self._alone = {}, {}, {}, None
        return out


def hears(text: str) -> bool:
    """Whether a line means anything to an idle reader."""
    return any(pattern.match(text) for pattern in (_ATTACH, _RESUMED, _CALL))


def read(text: str) -> Iterator[Record]:
    """All calls of a text that matter."""
    return read_all(Reader(), text)
