"""What the kernel's log says of trouble since the job began: kills for memory, Xids, hung tasks; by syslog(2), action 3.

Once per host. A user who may not read it (dmesg_restrict) loses nothing else, so that refusal is no gap: the rules that would
profit print the command. Process ids in it are those of the outermost pid namespace, so that it is only read there.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterator

from ...model.evidence.kernel_log import KernelLine, KernelLog
from .. import procfs
from ..collector import Collector, Target, Touch

_READ_ALL = 3  # the last bytes of the buffer; nothing is consumed
_BYTES = 1 << 18
_OUTERMOST = "pid:[4026531836]"  # PROC_PID_INIT_INO of include/linux/proc_ns.h
_MOST = 64
_LONGEST = 400
_LINE = re.compile(rb"^(?:<\d+>)?\[ *(\d+\.\d+)\](?:\[[^\]]*\])? (.*)$")
_TROUBLE = re.compile(
    rb"NVRM: Xid|SXid|oom-kill:|[Kk]illed process|blocked for more than|not responding|\[Hardware Error\]|Machine check"
    rb"|segfault at|general protection|soft lockup|I/O error"
)


def collect(target: Target) -> KernelLog | None:
    if target.proc != "/proc" or not _outermost():
        return None  # a copy of another machine, or a container: the numbers in the log are others
    raw = _read()
    lines = tuple(parse(raw, target.process.ref.started / procfs.TICKS))
    return KernelLog(lines) if lines else None


def _outermost() -> bool:
    try:
        return os.readlink("/proc/self/ns/pid") == _OUTERMOST
    except OSError:
        return False


def _read() -> bytes:
    """The end of the log; empty where it may not be read."""
    buffer = ctypes.create_string_buffer(_BYTES)
    size = ctypes.CDLL(None).klogctl(_READ_ALL, buffer, _BYTES)
    return buffer.raw[:size] if size > 0 else b""


def parse(raw: bytes, since_s: float) -> Iterator[KernelLine]:
    """The last lines that speak of trouble and came after a moment, in seconds since boot."""
    found = [match for line in raw.splitlines() if (match := _LINE.match(line)) and _TROUBLE.search(match[2])]
    for match in found[-_MOST:]:
        if float(match[1]) >= since_s:
            yield KernelLine(float(match[1]), match[2][:_LONGEST].decode("utf-8", "replace"))


COLLECTOR = Collector("kernel-log", Touch.PASSIVE, 1.0, collect, every_sweep=False, order=94, per_host=True)
