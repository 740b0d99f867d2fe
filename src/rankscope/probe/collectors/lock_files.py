"""Lock files that a thread polls (torch's FileBaton, soft locks): how old they are and who has them open.

The path comes from the waiting frame; the file is opened below the process's own root and never read.
"""

from __future__ import annotations

import os
import time

from ...model.evidence.lock_files import LockFile, LockFiles
from ...model.evidence.stacks import PythonStacks
from .. import procfs
from ..collector import Collector, Target, Touch
from ..source_lines import open_below

_MAX_PROCESSES = 4096


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
    root = os.open(f"{target.path}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        handle = open_below(root, path)
    except OSError:
        return LockFile(path)
    finally:
        os.close(root)
    try:
        about = os.fstat(handle)
    finally:
        os.close(handle)
    age = round(max(0.0, time.time() - about.st_mtime), 1)
    return LockFile(path, age, tuple(_holders(target, about.st_dev, about.st_ino)))


def _holders(target: Target, device: int, inode: int) -> list[int]:
    """The processes of this host that have the file open, as far as we may look."""
    found = []
    for pid in procfs.pids(target.proc)[:_MAX_PROCESSES]:
        folder = f"{target.proc}/{pid}/fd"
        try:
            if any(_same(f"{folder}/{fd}", device, inode) for fd in os.listdir(folder)):
                found.append(pid)
        except OSError:
            continue  # not ours to see, or gone
    return found


def _same(link: str, device: int, inode: int) -> bool:
    try:
        about = os.stat(link)
    except OSError:
        return False
    return (about.st_dev, about.st_ino) == (device, inode)


COLLECTOR = Collector("lock-files", Touch.PASSIVE, 3.0, collect, every_sweep=False, order=45)
