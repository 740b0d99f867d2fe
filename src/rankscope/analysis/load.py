"""What a whole process did between the looks: the CPU it used, and the bytes it moved."""

from __future__ import annotations

from ..model.evidence.threads import Threads
from .case import Member

# What a loop that polls reads or logs in a second is less than this; loading data or saving a checkpoint is more.
MUCH_BYTES = 256 << 10


def works_unseen(member: Member) -> bool:
    """Whether a process without a readable stack moves data, or any of its threads or its descendants use the CPU."""
    first, last = member.first(Threads), member.latest(Threads)
    passed = (last.uptime_s or 0.0) - (first.uptime_s or 0.0) if first is not None and last is not None else 0.0
    if first is None or last is None or passed <= 0:
        return False
    before = {task.tid: task.cpu_s for task in first.threads}
    used = sum(task.cpu_s - before.get(task.tid, task.cpu_s) for task in last.threads)
    below = last.below_cpu_s - first.below_cpu_s if first.below_cpu_s >= 0 else 0.0
    return used / passed > 0.05 or below / passed > 0.2 or transferred(member) >= MUCH_BYTES


def transferred(member: Member) -> int:
    """Bytes that the process read and wrote by system calls between the looks."""
    first, last = member.first(Threads), member.latest(Threads)
    if first is None or last is None or first.written_bytes < 0 or last.written_bytes < 0:
        return 0
    return last.written_bytes - first.written_bytes + last.read_bytes - first.read_bytes
