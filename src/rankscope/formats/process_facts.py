"""What somebody copied from ``/proc/PID`` (proc(5)): the pid, lines of ``status``, the wait channel, the kernel's stack, and CPU
time once or several times; each ``utime … stime …`` is a moment. One text may hold several processes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ..model.evidence.threads import KernelThread, Threads
from ..model.patterns import regex
from ..model.process import TICKS_PER_S

NAME = "process-facts"
MOST_MOMENTS = 64
MOST_FRAMES = 64
_PID = regex(r"^(?:pid|Pid:)\s+(\d{1,9})\s*$", re.MULTILINE)
_FIELD = regex(r"(?P<key>pid(?=\s+\d)|(?:Name|Pid|State|voluntary_ctxt_switches)(?=:)):?\s*(?P<value>\S*)")
_STATE = regex(r"^State:\s+([RSDTtZXI])\b", re.MULTILINE)
_CPU = regex(r"^utime\s+(\d{1,15})\s+stime\s+(\d{1,15})\s*$", re.MULTILINE)
_SWITCHES = regex(r"^(non)?voluntary_ctxt_switches:\s+(\d{1,15})", re.MULTILINE)
_STACK = regex(r"^\[<[0-9a-f]+>\] ([\w.]+)", re.MULTILINE)
_CHANNEL = regex(r"^([a-z_]\w{3,63})$", re.MULTILINE)


def recognises(head: bytes) -> bool:
    """Does a text begin like such notes: a pid, a state and CPU times?"""
    text = head[:4096].decode("utf-8", "replace")
    return bool(_PID.search(text) and _STATE.search(text) and _CPU.search(text))


def read(data: bytes, name: str = "") -> Iterator[Threads]:
    """The main thread of each process at every moment that was noted."""
    pid, states, moments = None, dict[int, str](), Counter[int]()
    for text in _sections(data.decode("utf-8", "replace")):
        said, state, channel = _PID.search(text), _STATE.search(text), _CHANNEL.search(text)
        pid = int(said[1]) if said else pid
        if pid is None:
            continue
        if state is not None:
            states[pid] = state[1]
        switches = {kind: int(count) for kind, count in _SWITCHES.findall(text)}
        for utime, stime in _CPU.findall(text)[: MOST_MOMENTS - moments[pid]] if pid in states else ():
            moments[pid] += 1
            yield Threads((KernelThread(
                pid, "", states[pid], wchan=channel[1] if channel else "", cpu_s=(int(utime) + int(stime)) / TICKS_PER_S,
                voluntary=switches.get("", -1), involuntary=switches.get("non", -1),
                kernel_stack=tuple(_STACK.findall(text)[:MOST_FRAMES]),
            ),))  # fmt: skip


def _sections(text: str) -> Iterator[str]:
    """What was noted at once of one process: it ends where another pid stands, or one of its fields comes once more.

    In ``status`` the state stands above the pid, in notes below it.
    """
    section: list[str] = []
    fields: dict[str, str] = {}
    for line in text.split("\n"):
        found = _FIELD.match(line)
        key, value = (found["key"].lower(), found["value"]) if found else ("", "")
        if key in fields and not (key == "pid" and fields[key] == value):
            yield "\n".join(section)
            section, fields = [], {}
        if key:
            fields[key] = value
        section.append(line)
    yield "\n".join(section)
