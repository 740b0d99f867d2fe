"""What somebody copied from ``/proc/PID``: the pid, lines of ``status``, the wait channel, and CPU time once or several times
(proc(5)); each ``utime … stime …`` is a moment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..model.evidence.threads import KernelThread, Threads
from ..model.patterns import regex

NAME = "process-facts"
MOST_MOMENTS = 64
_TICKS_PER_S = 100  # USER_HZ, the same on every Linux that torch runs on
_PID = regex(r"^(?:pid|Pid:)\s+(\d{1,9})\s*$", re.MULTILINE)
_STATE = regex(r"^State:\s+([RSDTtZXI])\b", re.MULTILINE)
_CPU = regex(r"^utime\s+(\d{1,15})\s+stime\s+(\d{1,15})\s*$", re.MULTILINE)
_SWITCHES = regex(r"^(non)?voluntary_ctxt_switches:\s+(\d{1,15})", re.MULTILINE)
_CHANNEL = regex(r"^([a-z_]\w{3,63})$", re.MULTILINE)


def recognises(head: bytes) -> bool:
    """Does a text begin like such notes: a pid, a state and CPU times?"""
    text = head[:4096].decode("utf-8", "replace")
    return bool(_PID.search(text) and _STATE.search(text) and _CPU.search(text))


def read(data: bytes, name: str = "") -> Iterator[Threads]:
    """The main thread of the process at every moment that was noted."""
    text = data[: 1 << 16].decode("utf-8", "replace")
    pid, state = _PID.search(text), _STATE.search(text)
    if pid is None or state is None:
        return
    channel = _CHANNEL.search(text)
    switches = {kind: int(count) for kind, count in _SWITCHES.findall(text)}
    for utime, stime in _CPU.findall(text)[:MOST_MOMENTS]:
        yield Threads((KernelThread(
            int(pid[1]), "", state[1], wchan=channel[1] if channel else "",
            cpu_s=(int(utime) + int(stime)) / _TICKS_PER_S, voluntary=switches.get("", -1),
            involuntary=switches.get("non", -1),
        ),))  # fmt: skip
