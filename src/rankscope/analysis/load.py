"""What a process did between the looks: the CPU it used, and the bytes it moved; and how much of that is work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..model.evidence.threads import KernelThread, Threads
from .case import Member

# Shares of one CPU. The kernel counts in hundredths of a second, and looks lie about a second apart.
TICKS = 0.03  # a thread that only wakes now and then, as libraries have them, uses less
STIRS = 0.05  # and so do all threads of a process together that does nothing but poll
WORKS = 0.1  # what does work in pieces uses more than this; what asks ten times a second does not
WORKS_BELOW = 0.2  # of all descendants together: a tree of shells, launchers and monitors stirs more than one process
FRESH_WORK_BELOW = 0.02  # of descendants that live by their tasks and go with them
WANTS = 0.3  # a thread that never sleeps gets more, on any machine where not more than three share a core
RUNS = 0.5  # what runs, or spins, rather than waits

# What a loop that polls reads or logs in a second is less than this; loading data or saving a checkpoint is more.
MUCH_BYTES = 256 << 10
MANY_CALLS = 1000  # a second: of one that never rests, on a busy machine as well


@dataclass(frozen=True)
class Used:
    """A thread that was there at the first and the last look: the share of a CPU it used, and how often a second it woke."""

    task: KernelThread
    share: float
    wakes_per_s: float


def watched_s(member: Member) -> float | None:
    """The seconds from the first look at a process to the last one; None where a look has no clock, as in saved dumps."""
    times = [one.uptime_s for one in member.over_time(Threads)]
    first, last = (times[0], times[-1]) if times else (None, None)
    return last - first if first is not None and last is not None else None


def used(member: Member, at_least_s: float = 0.0) -> Iterator[Used]:
    """What each thread did between the looks; nothing where they are not further apart, or have no clock."""
    first, last, passed = member.first(Threads), member.latest(Threads), watched_s(member)
    if first is None or last is None or passed is None or passed <= at_least_s:
        return
    before = {task.tid: task for task in first.threads}
    for task in last.threads:
        was = before.get(task.tid)
        if was is not None:
            yield Used(task, (task.cpu_s - was.cpu_s) / passed, (task.voluntary - was.voluntary) / passed)


def works_unseen(member: Member) -> bool:
    """Whether a process without a readable stack moves data, or any of its threads or its descendants use the CPU."""
    return (
        used_by_all(member) > STIRS
        or used_below(member) > WORKS_BELOW
        or (bool(watched_s(member)) and transferred(member) >= MUCH_BYTES)
    )


def used_by_all(member: Member) -> float:
    """The share of a CPU that all threads of a process used together."""
    return sum(one.share for one in used(member))


def used_below(member: Member) -> float:
    """The share of a CPU that the descendants of a process used between the looks, 0 where they were not looked at."""
    first, last, passed = member.first(Threads), member.latest(Threads), watched_s(member)
    if first is None or last is None or not passed or first.below_cpu_s < 0 or last.below_cpu_s < 0:
        return 0.0
    return (last.below_cpu_s - first.below_cpu_s) / passed


def reads_nothing(member: Member) -> bool:
    """Whether it read again and again between the looks and got nothing, as one does who reads on at the end of a pipe."""
    first, last, passed = member.first(Threads), member.latest(Threads), watched_s(member)
    if first is None or last is None or not passed or min(first.read_calls, first.read_bytes) < 0:
        return False
    return last.read_bytes == first.read_bytes and (last.read_calls - first.read_calls) / passed >= MANY_CALLS


def transferred(member: Member) -> int:
    """Bytes that the process read and wrote by system calls between the looks."""
    first, last = member.first(Threads), member.latest(Threads)
    if first is None or last is None or first.written_bytes < 0 or last.written_bytes < 0:
        return 0
    return last.written_bytes - first.written_bytes + last.read_bytes - first.read_bytes
