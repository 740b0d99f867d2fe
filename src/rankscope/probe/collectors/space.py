"""Room left where a process writes: statfs of its working directory, of /dev/shm and of its files open for writing.

A process that waits for storage is left alone: asking its file system may block as it does. Comes late and gives up
early, since a server that is gone makes the question itself stand still.
"""

from __future__ import annotations

import os
import stat

from ...model.evidence.space import Mount, Room, Space
from ...model.process import Role
from .. import mounts
from ..collector import Collector, Target, Touch

SHM = "/dev/shm"  # noqa: S108 - where shared memory is mounted
_MOST = 64
_WORKS = frozenset({Role.RANK, Role.CHECKPOINT_WRITER, Role.DATALOADER_WORKER, Role.OTHER})


def collect(target: Target) -> Space | None:
    kernel = target.seen.get("threads")
    if kernel is None or any(task.state in "ZX" for task in kernel.threads) or mounts.held_up(kernel):
        return None
    known = mounts.read(target.path)
    rooms: dict[tuple[Mount, bool], Room] = {}
    for link, used_for, mount in _places(target, known):
        if mount is not None and (mount, used_for.startswith("/")) not in rooms:
            room = _room(link, used_for, mount)
            if room is not None:
                rooms[mount, used_for.startswith("/")] = room
    return Space(tuple(rooms.values())) if rooms else None


def _places(target: Target, known: mounts.Mounts) -> list[tuple[str, str, Mount | None]]:
    """What to ask about: a way there through /proc, what it is used for, and its mount."""
    path = target.path
    files = target.seen.get("files")
    out = [
        (f"{path}/fd/{one.fd}", one.target, _mount_of(path, one.fd, known))
        for one in (files.files if files else ())[:4096]
        if "w" in one.mode and _on_disk(one.target)
    ]  # fmt: skip
    cwd = os.readlink(f"{path}/cwd")
    out.append((f"{path}/cwd", "cwd", known.of_path(cwd)))
    shm = known.of_path(SHM)
    out.append((f"{path}/root{SHM}", "shm", shm if shm is not None and shm.place == SHM else None))
    return out[-_MOST:]


def _on_disk(name: str) -> bool:
    return name.startswith(f"{SHM}/") or (
        name.startswith("/") and not name.startswith(("/dev/", "/proc/", "/memfd:", "/sys/"))
    )


def _mount_of(path: str, fd: int, known: mounts.Mounts) -> Mount | None:
    try:
        if not stat.S_ISREG(os.stat(f"{path}/fd/{fd}").st_mode):
            return None
        return mounts.of_fd(path, fd, known)
    except OSError:
        return None


def _room(link: str, used_for: str, mount: Mount) -> Room | None:
    try:
        said = os.statvfs(link)
    except OSError:
        return None
    if not said.f_blocks or said.f_flag & os.ST_RDONLY:
        return None
    free_files = said.f_favail if said.f_files else -1
    return Room(mount, used_for, said.f_bavail * said.f_frsize, said.f_blocks * said.f_frsize, free_files)


COLLECTOR = Collector("space", Touch.PASSIVE, 0.5, collect, every_sweep=False, roles=_WORKS, order=85, shared=True)
