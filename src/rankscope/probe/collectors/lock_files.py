"""Lock files that a thread polls (torch's FileBaton, soft locks): how old they are and who has them open.

The path comes from the waiting frame; the file is opened below the process's own root with the rights of its user. Of its
content only a pid and a host name at its beginning are used, as soft locks write them.
"""

from __future__ import annotations

import os
import stat
import time

from ...model.evidence.lock_files import LockFile, LockFiles
from ...model.evidence.stacks import PythonStacks
from .. import mounts, procfs, source_lines
from ..collector import Collector, Target, Touch

_MAX_PROCESSES = 4096
_MAX_FDS = 1024


def collect(target: Target) -> LockFiles | None:
    stacks = target.seen.get("python-stacks")
    paths = {
        local.value
        for thread in (stacks.threads if isinstance(stacks, PythonStacks) else ())
        for local in thread.locals
        if local.type == "path"
    }
    return LockFiles(tuple(_look(target, path) for path in sorted(paths)[:4])) if paths else None


def _look(target: Target, path: str) -> LockFile:
    if not path.startswith("/"):
        path = os.path.join(os.readlink(f"{target.path}/cwd"), path)
    try:
        with source_lines.opened(target.proc, target.process.ref.pid, path) as handle:
            about = os.fstat(handle)
            served = _served(target, handle)
            owner = _owner(handle) if stat.S_ISREG(about.st_mode) else 0
            name = _name(f"/proc/self/fd/{handle}")
    except OSError:
        return LockFile(path)
    age = round(max(0.0, time.time() - about.st_mtime), 1)
    holders = _holders(target, name, about.st_dev, about.st_ino)
    if owner and os.path.exists(f"{target.proc}/{owner}/stat"):
        holders.append(owner)
    return LockFile(path, age, tuple(dict.fromkeys(holders)), served)


def _served(target: Target, handle: int) -> bool | None:
    """Whether the file lies on a file system that comes from a server or a program, as one does that several hosts share."""
    try:
        mount = mounts.of_fd("/proc/self", handle, mounts.read(target.path))
    except OSError:
        return None
    return None if mount is None else mounts.SERVED.match(mount.kind) is not None


def _owner(handle: int) -> int:
    """The pid that a soft lock names as its owner on this host, 0 where it names none."""
    try:
        file = os.open(f"/proc/self/fd/{handle}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        lines = os.read(file, 256).decode("ascii", "replace").split("\n")
    finally:
        os.close(file)
    here = len(lines) > 1 and lines[1].strip() == os.uname().nodename
    return int(lines[0]) if here and lines[0].strip().isdigit() else 0


def _holders(target: Target, name: str, device: int, inode: int) -> list[int]:
    """The processes of this host that have the file open, as far as we may look.

    Only what bears the name of the file is touched: any other may lie on a file system that does not answer.
    """
    links = _open_names(target).get(name, ())
    return [pid for pid, link in links if _same(link, device, inode)]


def _open_names(target: Target) -> dict[str, list[tuple[int, str]]]:
    """The names of all open files of this host, and who has them open by which link; looked through once by each
    child that works."""
    if "names" not in target.shelf:
        names: dict[str, list[tuple[int, str]]] = {}
        for pid in procfs.pids(target.proc)[:_MAX_PROCESSES]:
            folder = f"{target.proc}/{pid}/fd"
            try:
                for fd in os.listdir(folder)[:_MAX_FDS]:
                    if name := _name(f"{folder}/{fd}"):
                        names.setdefault(name, []).append((pid, f"{folder}/{fd}"))
            except OSError:
                continue  # not ours to see, or gone
        target.shelf["names"] = names
    return target.shelf["names"]  # type: ignore[no-any-return]


def _name(link: str) -> str:
    """The last part of the name of an open file, empty where it is none."""
    try:
        path = procfs.link(link)
    except OSError:
        return ""
    return os.path.basename(path.partition(" (deleted)")[0]) if path.startswith("/") else ""


def _same(link: str, device: int, inode: int) -> bool:
    try:
        about = os.stat(link)
    except OSError:
        return False
    return (about.st_dev, about.st_ino) == (device, inode)


COLLECTOR = Collector("lock-files", Touch.PASSIVE, 3.0, collect, every_sweep=False, order=45, shared=True)
