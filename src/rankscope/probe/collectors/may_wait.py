"""On which descriptors threads may wait whose system call we may not see, from their wait channel (proc(5)).

/proc/PID/syscall asks for the right to attach (PTRACE_MODE_ATTACH), which Yama keeps from all but ancestors; wchan, fd and
fdinfo ask for the right to read, which the same user has. What a channel leaves open is narrowed by what the kernel says of
the ends: who reads does not sleep on a connection in which data lies, and what an epoll watches is its own thread's business.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...model.evidence.files import OpenFile, OpenFiles
from ...model.evidence.may_wait import TERMINALS, MayWait, OpenWait
from ...model.evidence.sockets import Socket, Sockets, inode_of
from ...model.evidence.threads import KernelThread, Threads
from .. import procfs
from ..collector import Collector, Target, Touch

# Names of wait channels, Linux 5.x–6.x (fs/pipe.c, net/core/stream.c, net/unix/af_unix.c, fs/select.c, fs/eventpoll.c).
_PIPE_READ = ("pipe_read", "anon_pipe_read", "pipe_wait_readable")
_PIPE_WRITE = ("pipe_write", "anon_pipe_write", "pipe_wait_writable")
# A terminal's line discipline sleeps in wait_woken as TCP does.
_TCP = ("wait_woken", "sk_wait_data", "sk_stream_wait", "tcp_", "n_tty_read")
_UNIX = ("unix_stream", "sock_alloc_send")
_ACCEPT = ("inet_csk_accept", "unix_accept")
_POLL = ("poll_schedule_timeout", "do_poll", "do_sys_poll", "do_select", "core_sys_select")
_EPOLL = ("ep_poll", "do_epoll_wait")
_TALKS = ("established", "close-wait", "syn-sent")
_MAX_THREADS = 64
_MAX_FDS = 64


def collect(target: Target) -> MayWait | None:
    kernel, files = target.seen.get("threads"), target.seen.get("files")
    if not isinstance(kernel, Threads) or not isinstance(files, OpenFiles):
        return None
    blind = [task for task in kernel.threads if task.state == "S" and task.wchan and not task.syscall][:_MAX_THREADS]
    if not blind:
        return None
    found = target.seen.get("sockets")
    known = {one.inode: one for one in found.sockets} if isinstance(found, Sockets) else {}
    watched = _watched(target, files.files)
    waits = tuple(one for task in blind if (one := possible(task, files.files, known, watched)) is not None)
    semaphores = _semaphores(target) if any("futex" in task.wchan for task in blind) else 0
    return MayWait(waits, semaphores) if waits or semaphores else None


def possible(
    task: KernelThread, files: Iterable[OpenFile], sockets: dict[int, Socket], watched: tuple[tuple[int, ...], ...] = ()
) -> OpenWait | None:
    """What one thread may wait on; ``watched`` are the descriptors of each epoll of the process. None where nothing tells."""
    channel, opened, elsewhere = task.wchan, tuple(files), {fd for fds in watched for fd in fds}
    names = {one.target for one in opened if one.fd in elsewhere}
    mine = tuple(one for one in opened if one.target not in names)
    if channel.startswith(_PIPE_READ):
        return OpenWait(task.tid, _pipes(mine, "r"))
    if channel.startswith(_PIPE_WRITE):
        return OpenWait(task.tid, _pipes(mine, "w"), writes=True)
    if channel.startswith(_ACCEPT):
        return OpenWait(task.tid, tuple(fd for fd, one in _connections(mine, sockets) if one.state == "listen"))
    if channel.startswith(_UNIX):
        return _talks(task, _open(mine, sockets, "unix"), ())
    if channel.startswith(_TCP):
        return _talks(task, _open(mine, sockets, "tcp"), _terminals(mine))
    if channel.startswith(_EPOLL):
        return OpenWait(task.tid, watched[0], many=True) if len(watched) == 1 else None
    if channel.startswith(_POLL):
        quiet = tuple(fd for fd, one in _connections(mine, sockets) if not one.receive_queue)
        return OpenWait(task.tid, (*_pipes(mine, "r"), *quiet)[:_MAX_FDS])
    return None


def _talks(task: KernelThread, connections: list[tuple[int, Socket]], terminals: tuple[int, ...]) -> OpenWait:
    """Who reads sleeps where no data lies; where data lies in all, and much waits to be sent, it is one that writes."""
    quiet = tuple(fd for fd, one in connections if not one.receive_queue)
    full = tuple(fd for fd, one in connections if one.send_queue)
    if full and not quiet:
        return OpenWait(task.tid, full[:_MAX_FDS], writes=True)
    return OpenWait(task.tid, (*quiet, *terminals)[:_MAX_FDS])


def _pipes(files: tuple[OpenFile, ...], end: str) -> tuple[int, ...]:
    return tuple(one.fd for one in files if one.target.startswith("pipe:[") and end in one.mode)[:_MAX_FDS]


def _terminals(files: tuple[OpenFile, ...]) -> tuple[int, ...]:
    """The first descriptor of each terminal that can be read."""
    found = {one.target: one.fd for one in reversed(files) if one.target.startswith(TERMINALS) and "r" in one.mode}
    return tuple(sorted(found.values()))


def _open(files: tuple[OpenFile, ...], sockets: dict[int, Socket], kind: str) -> list[tuple[int, Socket]]:
    return [(fd, one) for fd, one in _connections(files, sockets) if one.kind == kind and one.state in _TALKS]


def _connections(files: tuple[OpenFile, ...], sockets: dict[int, Socket]) -> list[tuple[int, Socket]]:
    """Descriptors with their sockets, the first of each."""
    found: dict[int, tuple[int, Socket]] = {}
    for one in files:
        inode = inode_of(one.target)
        if inode and inode in sockets:
            found.setdefault(inode, (one.fd, sockets[inode]))
    return list(found.values())


def _watched(target: Target, files: tuple[OpenFile, ...]) -> tuple[tuple[int, ...], ...]:
    """The descriptors that each epoll instance of the process watches."""
    instances = [one.fd for one in files if one.target == "anon_inode:[eventpoll]"][:_MAX_FDS]
    return tuple(procfs.epolled(target.path, fd, _MAX_FDS) for fd in instances)


def _semaphores(target: Target) -> int:
    """How many semaphores of sem_overview(7) are mapped; multiprocessing unlinks them at once, and their names stay here."""
    lines = procfs.read(f"{target.path}/maps", 16 << 20).splitlines()
    return len({line.split()[4] for line in lines if b"/dev/shm/sem." in line})


COLLECTOR = Collector("may-wait", Touch.PASSIVE, 2.0, collect, every_sweep=False, order=32)
