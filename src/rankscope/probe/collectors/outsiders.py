"""Who holds the other ends of the few descriptors that a thread waits on, among all processes of this host (proc(5)).

Members of the job are found by their own evidence; this is for servers, readers and writers beside it. All descriptors of
the host are looked through once, and only where somebody waits on a single pipe or connection, or on a few with pipes among
them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from ...model.evidence.blocked import Blocked
from ...model.evidence.files import OpenFiles
from ...model.evidence.may_wait import MayWait
from ...model.evidence.outsiders import Outsider, Outsiders
from ...model.evidence.sockets import Sockets
from .. import procfs
from ..collector import Collector, Target, Touch

_MAX_PROCESSES = 4096
_MAX_FDS = 1024
_MAX_FOUND = 16
_MAX_ENDS = 8  # a thread that may wait on more than this tells nothing


def collect(target: Target) -> Outsiders | None:
    wanted = dict(_other_ends(target))
    if not wanted:
        return None
    holders = _holders(target)
    found = [
        one
        for inode, fd in wanted.items()
        for pid in holders.get(inode, ())
        if pid != target.process.ref.pid and (one := _look(target, pid, fd, inode)) is not None
    ]
    return Outsiders(tuple(found[:_MAX_FOUND])) if found else None


def _look(target: Target, pid: int, fd: int, inode: int) -> Outsider | None:
    try:
        stat = procfs.stat(target.proc, pid)
    except (OSError, ValueError, IndexError):
        return None
    return Outsider(pid, stat.comm, stat.state, fd, inode, stat.parent)


def _other_ends(target: Target) -> Iterator[tuple[int, int]]:
    """(inode of the other end, our descriptor) of threads that wait on one descriptor or some pipes, or may wait on a few; both
    ends of a pipe share theirs."""
    files, sockets = target.seen.get("files"), target.seen.get("sockets")
    if not isinstance(files, OpenFiles):
        return
    targets = {one.fd: one.target for one in files.files}
    peers = {one.inode: one.peer_inode for one in sockets.sockets} if isinstance(sockets, Sockets) else {}
    for fd in sorted(_awaited(target)):
        kind, _, number = targets.get(fd, "").partition(":")
        inode = int(number[1:-1]) if number[1:-1].isdigit() else 0
        end = inode if kind == "pipe" else peers.get(inode, 0) if kind == "socket" else 0
        if end:
            yield end, fd


def _awaited(target: Target) -> set[int]:
    blocked, may_wait = target.seen.get("blocked"), target.seen.get("may-wait")
    # Of more than one only pipes: what ``communicate`` or an event loop reads, the output and the errors of a command.
    calls = blocked.calls if isinstance(blocked, Blocked) else ()
    pipes = _pipes(target) if any(1 < len(call.fds) <= _MAX_ENDS for call in calls) else set()
    seen = {fd for call in calls if len(call.fds) <= _MAX_ENDS for fd in call.fds if len(call.fds) == 1 or fd in pipes}
    open_waits = may_wait.waits if isinstance(may_wait, MayWait) else ()
    return seen | {fd for wait in open_waits if len(wait.fds) <= _MAX_ENDS for fd in wait.fds}


def _pipes(target: Target) -> set[int]:
    files = target.seen.get("files")
    return {one.fd for one in files.files if one.target.startswith("pipe:")} if isinstance(files, OpenFiles) else set()


def _holders(target: Target) -> dict[int, list[int]]:
    """Inodes of pipes and sockets, and the processes that have them open; looked up once by each child that works."""
    if "holders" not in target.shelf:
        holders: dict[int, list[int]] = {}
        for pid in procfs.pids(target.proc)[:_MAX_PROCESSES]:
            for inode in _open_ends(target, pid):
                holders.setdefault(inode, []).append(pid)
        target.shelf["holders"] = holders
    return target.shelf["holders"]  # type: ignore[no-any-return]


def _open_ends(target: Target, pid: int) -> set[int]:
    folder = f"{target.proc}/{pid}/fd"
    found: set[int] = set()
    try:
        names = os.listdir(folder)[:_MAX_FDS]
    except OSError:
        return found
    for name in names:
        try:
            kind, _, number = os.readlink(f"{folder}/{name}").partition(":[")
        except OSError:
            continue
        if kind in ("pipe", "socket") and number[:-1].isdigit():
            found.add(int(number[:-1]))
    return found


COLLECTOR = Collector("outsiders", Touch.PASSIVE, 2.0, collect, every_sweep=False, order=33)
