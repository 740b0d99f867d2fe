"""The files of /proc that tell who is running, read with as few system calls as possible (proc(5))."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

TICKS = os.sysconf("SC_CLK_TCK")
_CHUNK = 1 << 16
_EPOLLED = re.compile(rb"^tfd:\s*(\d+)", re.MULTILINE)


def read(path: str, limit: int = 1 << 20) -> bytes:
    """The bytes of one /proc file, at most ``limit``; raise OSError as the kernel does."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # Tables such as net/tcp come a page at a time, so only an empty read is the end.
        parts = [os.read(handle, min(_CHUNK, limit))]
        size = len(parts[0])
        while parts[-1] and size < limit:
            parts.append(os.read(handle, min(_CHUNK, limit - size)))
            size += len(parts[-1])
        return b"".join(parts)
    finally:
        os.close(handle)


def epolled(path: str, fd: int, most: int) -> tuple[int, ...]:
    """The descriptors that the epoll instance ``fd`` of the process at ``path`` watches, at most ``most`` (proc(5), fdinfo)."""
    try:
        raw = read(f"{path}/fdinfo/{fd}", _CHUNK)
    except OSError:
        return ()  # it was closed meanwhile
    return tuple(map(int, _EPOLLED.findall(raw)))[:most]


@dataclass(frozen=True)
class Stat:
    """The fields of /proc/PID/stat (or of a thread's) that matter here; times are in clock ticks."""

    pid: int
    comm: str
    state: str
    parent: int
    group: int
    session: int
    flags: int
    cpu: int  # user + system time
    started: int
    rss_pages: int
    exit_status: int = 0  # as wait(2) gives it, of a zombie; 0 where we may not look into the process
    processor: int = -1  # the CPU it last ran on
    reaped_faults: int = -1  # minor page faults of the children that it has waited for


def parse_stat(raw: bytes) -> Stat:
    """Read one stat line; the name may hold any byte, so the last parenthesis ends it."""
    head, _, tail = raw.rpartition(b")")
    pid, _, comm = head.partition(b"(")
    f = tail.split()
    return Stat(
        int(pid), comm.decode("utf-8", "replace"), f[0].decode("ascii", "replace"), int(f[1]), int(f[2]), int(f[3]),
        int(f[6]), int(f[11]) + int(f[12]), int(f[19]), int(f[21]),
        int(f[49]) if len(f) > 49 else 0, int(f[36]) if len(f) > 36 else -1, int(f[8]),
    )  # fmt: skip


def stat(proc: str, pid: int) -> Stat:
    """What /proc/PID/stat says now; raise OSError when the process is gone."""
    return parse_stat(read(f"{proc}/{pid}/stat"))


def frozen(path: str) -> bool:
    """Whether the control group of the process at /proc/PID is frozen, version 2 or 1 (cgroups(7))."""
    try:
        lines = read(f"{path}/cgroup", 1 << 14).decode("utf-8", "replace").splitlines()
    except OSError:
        return False
    for line in lines:
        number, controllers, group = line.split(":", 2)
        if number == "0" and b"frozen 1" in _told(f"/sys/fs/cgroup{group}/cgroup.events"):
            return True
        if "freezer" in controllers.split(",") and group != "/":
            return _told(f"/sys/fs/cgroup/freezer{group}/freezer.state").strip() == b"FROZEN"
    return False


def _told(path: str) -> bytes:
    try:
        return read(path, 1 << 12)
    except OSError:
        return b""


def pids(proc: str) -> list[int]:
    """All process ids visible to us, ascending."""
    return sorted(int(name) for name in os.listdir(proc) if name.isdigit())


def command(proc: str, pid: int) -> tuple[str, ...]:
    """The argument list of a process; empty for kernel threads and zombies."""
    raw = read(f"{proc}/{pid}/cmdline", 1 << 17)
    # A process that renamed itself (setproctitle) leaves one string padded with zeros.
    return tuple(part.decode("utf-8", "replace") for part in raw.rstrip(b"\0").split(b"\0")) if raw else ()


def environ(proc: str, pid: int) -> dict[str, str]:
    """The environment at exec. What the process set on itself later is not in it."""
    pairs = (item.partition(b"=") for item in read(f"{proc}/{pid}/environ").split(b"\0") if b"=" in item)
    return {key.decode("utf-8", "replace"): value.decode("utf-8", "replace") for key, _, value in pairs}


def link(path: str) -> str:
    """What a link points to, to be shown: a name may be any bytes, and what is no text is replaced."""
    return os.readlink(os.fsencode(path)).decode("utf-8", "replace")


def executable(proc: str, pid: int) -> str | None:
    """The path of the running program, None when we may not know or there is none."""
    try:
        return link(f"{proc}/{pid}/exe")
    except OSError:
        return None


def began_s(proc: str, started: int) -> float:
    """When a process began, in seconds since the epoch, from its start in ticks since boot (proc(5), btime of /proc/stat)."""
    for line in read(f"{proc}/stat").splitlines():
        if line.startswith(b"btime "):
            return int(line.split()[1]) + started / TICKS
    return 0.0


def boot_id(proc: str) -> str:
    """The id of this boot, which tells two hosts of one name apart."""
    try:
        return read(f"{proc}/sys/kernel/random/boot_id").decode("ascii", "replace").strip()
    except OSError:
        return ""
