"""State, wait channel, system call, CPU time, switches and stillness of every thread, from /proc/PID/task (proc(5)).

The age of stillness is the scheduler's clock now minus ``se.exec_start`` of /proc/PID/task/TID/sched, the moment the
thread last ran. The clock is read off our own thread, which is running at this very moment, on the CPU of that thread.
"""

from __future__ import annotations

import os
import re
import signal
import threading

from ...model.evidence.threads import KernelThread, Threads
from ...model.process import Role
from .. import procfs
from ..collector import Collector, Target, Touch
from ..cpu_clocks import Clocks

_FORKNOEXEC = 0x40  # PF_FORKNOEXEC (linux/sched.h): forked, but did not call exec
_EXEC_START = re.compile(rb"se\.exec_start\s*:\s*([0-9.]+)")
_STATUS = {
    name: re.compile(rb"^" + name + rb":\s*(.+)$", re.MULTILINE)
    for name in (
        b"TracerPid",
        b"NSpid",
        b"SigPnd",
        b"ShdPnd",
        b"SigIgn",
        b"SigPnd",
        b"ShdPnd",
        b"SigBlk",
        b"SigCgt",
        b"voluntary_ctxt_switches",
        b"nonvoluntary_ctxt_switches",
    )
}
MAX_THREADS = 4096
_PARENTS = frozenset({Role.RANK, Role.LAUNCHER, Role.OTHER})
_MAX_BELOW = 64


def collect(target: Target) -> Threads:
    path = target.path
    stat = procfs.stat(target.proc, target.process.ref.pid)
    status = procfs.read(f"{path}/status")
    clocks = _clocks(target)
    home = _scheduler_clock_ms(target.proc)
    threads, exact = [], home is not None
    for tid in sorted(map(int, os.listdir(f"{path}/task")))[:MAX_THREADS]:
        try:
            thread, told = _thread(f"{path}/task/{tid}", tid, home, clocks)
            threads.append(thread)
            exact = exact and told
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended while we looked
    ns_pids = _field(status, b"NSpid").split()
    read, written, asked = _io(path)
    below = _below(target.proc, target.process.ref.pid) if target.process.role in _PARENTS else -1.0
    return Threads(
        tuple(threads), read_bytes=read, written_bytes=written, read_calls=asked, below_cpu_s=below,
        tracer=int(_field(status, b"TracerPid") or 0), frozen=procfs.frozen(path),
        ns_pid=int(ns_pids[-1]) if len(ns_pids) > 1 else None,
        uptime_s=_uptime(target.proc) - stat.started / procfs.TICKS, rss_bytes=stat.rss_pages * 4096,
        exit_status=stat.exit_status if stat.state in "ZX" else None, exact_ages=exact,
        forked=bool(stat.flags & _FORKNOEXEC), caught=parse_signals(_field(status, b"SigCgt")),
        held_back=_held_back(status), reaped_faults=stat.reaped_faults,
        ignores_children=signal.SIGCHLD in (parse_signals(_field(status, b"SigIgn")) or ()),
    )  # fmt: skip


def _thread(path: str, tid: int, home_ms: float | None, clocks: Clocks) -> tuple[KernelThread, bool]:
    """One thread, and whether its age was told by the clock of its own CPU."""
    stat = procfs.parse_stat(procfs.read(f"{path}/stat"))
    status = procfs.read(f"{path}/status")
    clock_ms = clocks.now_ms(stat.processor) if home_ms is not None and stat.state not in "RZX" else None
    told = clock_ms is not None or stat.state in "RZX"
    ran_s, delayed_s = _schedstat(path) if stat.state == "R" else (-1.0, -1.0)
    thread = KernelThread(
        tid=tid, comm=stat.comm, state=stat.state, wchan=_text(f"{path}/wchan"), syscall=_syscall(f"{path}/syscall"),
        kernel_stack=_kernel_stack(f"{path}/stack") if stat.state == "D" else (), cpu_s=stat.cpu / procfs.TICKS,
        voluntary=int(_field(status, b"voluntary_ctxt_switches") or -1),
        involuntary=int(_field(status, b"nonvoluntary_ctxt_switches") or -1),
        still_s=_still(path, clock_ms or home_ms) if stat.state not in "RZX" else (0.0 if stat.state == "R" else None),
        ran_s=ran_s, delayed_s=delayed_s,
    )  # fmt: skip
    return thread, told


def _schedstat(path: str) -> tuple[float, float]:
    try:
        return parse_schedstat(procfs.read(f"{path}/schedstat", 128))
    except FileNotFoundError:
        return -1.0, -1.0  # a kernel that does not count, or the thread has ended


def parse_schedstat(raw: bytes) -> tuple[float, float]:
    """Seconds on a CPU and seconds of waiting for one (Documentation/scheduler/sched-stats.rst); −1 where not told."""
    parts = raw.split()
    if len(parts) < 2 or not (parts[0].isdigit() and parts[1].isdigit()) or parts[:2] == [b"0", b"0"]:
        return -1.0, -1.0  # a kernel that does not count shows zeros
    return int(parts[0]) / 1e9, int(parts[1]) / 1e9


def parse_signals(mask: str) -> tuple[int, ...] | None:
    """The numbers of the signals in a set as /proc/PID/status prints it, the lowest bit for signal 1 (proc(5)); None where
    it is no such set."""
    try:
        bits = int(mask, 16)
    except ValueError:
        return None
    return tuple(number + 1 for number in range(64) if bits >> number & 1)


def _held_back(status: bytes) -> tuple[int, ...]:
    """Signals that were sent to a process, or to its main thread, and wait until that one lets them through (proc(5))."""
    blocked, *sent = (parse_signals(_field(status, name)) or () for name in (b"SigBlk", b"SigPnd", b"ShdPnd"))
    return tuple(sorted(set(blocked) & {number for numbers in sent for number in numbers}))


def _clocks(target: Target) -> Clocks:
    """The clocks of this host's CPUs, read anew in each sweep."""
    kept = target.shelf.get("clocks")
    if not isinstance(kept, Clocks) or not kept.fresh:
        kept = target.shelf["clocks"] = Clocks(lambda: _scheduler_clock_ms(target.proc))
    return kept


def _field(status: bytes, name: bytes) -> str:
    found = _STATUS[name].search(status)
    return found.group(1).decode("ascii", "replace").strip() if found else ""


def _text(path: str) -> str:
    """One small file as text; the kernel writes 0 for "not waiting" and "not allowed" alike."""
    try:
        text = procfs.read(path, 256).decode("ascii", "replace").strip()
    except OSError:
        return ""
    return "" if text == "0" else text


def _syscall(path: str) -> tuple[int, ...]:
    """Number and six arguments of the system call a thread waits in; empty when it runs or we may not know."""
    parts = _text(path).split()
    if len(parts) < 7 or not parts[0].isdigit():
        return ()
    return (int(parts[0]), *(int(part, 16) for part in parts[1:7]))


def _kernel_stack(path: str) -> tuple[str, ...]:
    """Function names, innermost first; only root may read them."""
    try:
        lines = procfs.read(path, 1 << 14).decode("ascii", "replace").splitlines()
    except OSError:
        return ()
    return tuple(line.split("]", 1)[-1].strip().split("+")[0] for line in lines[:24] if "]" in line)


def _still(path: str, clock_ms: float | None) -> float | None:
    if clock_ms is None:
        return None
    ran = _exec_start_ms(f"{path}/sched")
    return max(0.0, round((clock_ms - ran) / 1000, 3)) if ran else None


def _exec_start_ms(path: str) -> float | None:
    try:
        found = _EXEC_START.search(procfs.read(path, 4096))
    except OSError:
        return None
    return float(found.group(1)) if found else None


def _scheduler_clock_ms(proc: str) -> float | None:
    return _exec_start_ms(f"{proc}/self/task/{threading.get_native_id()}/sched")


def _uptime(proc: str) -> float:
    return float(procfs.read(f"{proc}/uptime").split()[0])


def _below(proc: str, pid: int) -> float:
    """CPU seconds of all descendants: of those that ended and were waited for (in their parent's own account), and of
    those that live. Commands and compilers come and go between two looks, so that only their sum shows them at work."""
    ticks, todo, met = 0, [pid], 0
    while todo and met < _MAX_BELOW:
        one = todo.pop()
        met += 1
        try:
            fields = procfs.read(f"{proc}/{one}/stat").rpartition(b")")[2].split()
            ticks += int(fields[13]) + int(fields[14]) + (int(fields[11]) + int(fields[12]) if one != pid else 0)
            for tid in os.listdir(f"{proc}/{one}/task")[:64]:
                todo.extend(map(int, procfs.read(f"{proc}/{one}/task/{tid}/children", 1 << 14).split()))
        except (OSError, ValueError, IndexError):
            continue  # it ended, or this kernel has no list of children
    return ticks / procfs.TICKS


def _io(path: str) -> tuple[int, int, int]:
    """Bytes read and written by system calls (rchar, wchar), and calls that read (syscr); -1 where the kernel refuses."""
    try:
        fields = procfs.read(f"{path}/io", 1024).split()
        return int(fields[1]), int(fields[3]), int(fields[5])
    except (OSError, IndexError, ValueError):
        return -1, -1, -1


COLLECTOR = Collector("threads", Touch.PASSIVE, 2.0, collect, order=10)
