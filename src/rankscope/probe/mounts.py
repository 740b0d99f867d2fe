"""The mounts that a process sees (proc(5), mountinfo), and which one a path or an open file belongs to; touches none of them."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..model.evidence.space import Mount
from ..model.evidence.threads import Threads
from . import procfs

_FUSE = ("request_wait_answer", "fuse_")
_OCTAL = re.compile(r"\\([0-7]{3})")
_MOUNT_ID = re.compile(rb"^mnt_id:\s*(\d+)", re.MULTILINE)
# Kinds whose data lies with a server or another process, which may stop answering.
SERVED = re.compile(
    r"^(nfs|cifs|smb|lustre|gpfs|ceph|glusterfs|fuse|9p|beegfs|afs|orangefs|panfs|wekafs|virtiofs|davfs|ocfs2|gfs2)"
)


@dataclass(frozen=True)
class Mounts:
    """All mounts of one mount namespace, by id; later ones cover earlier ones."""

    by_id: Mapping[int, Mount]

    def of_path(self, path: str) -> Mount | None:
        """The mount under which a path lies, by the longest mount point that begins it."""
        best = None
        for mount in self.by_id.values():
            point = mount.place.rstrip("/")
            if (path == point or path.startswith(point + "/")) and (
                best is None or len(point) >= len(best.place.rstrip("/"))
            ):
                best = mount
        return best

    def served(self) -> tuple[Mount, ...]:
        """The mounts that come from a server or a program."""
        return tuple(mount for mount in self.by_id.values() if SERVED.match(mount.kind))


def held_up(kernel: Threads | None) -> frozenset[int]:
    """The threads that wait inside the kernel for storage, as far as it says so: also for a program that serves files."""
    threads = kernel.threads if kernel is not None else ()
    return frozenset(task.tid for task in threads if task.state == "D" or task.wchan.startswith(_FUSE))


@functools.lru_cache(maxsize=4)  # the processes of a job mostly share one list, which may be long
def parse(raw: bytes) -> Mounts:
    """Read a mountinfo file; lines that are none are passed over."""
    found = {}
    for line in raw.decode("utf-8", "replace").splitlines():
        head, _, tail = line.partition(" - ")
        fields, about = head.split(), tail.split()
        if len(fields) >= 5 and len(about) >= 2 and fields[0].isascii() and fields[0].isdigit():
            found[int(fields[0])] = Mount(_plain(fields[4]), about[0], _plain(about[1]))
    return Mounts(found)


def _plain(text: str) -> str:
    """Blanks and backslashes are written as octal numbers."""
    return _OCTAL.sub(lambda found: chr(int(found.group(1), 8)), text)


def read(path: str) -> Mounts:
    """The mounts of a process; ``path`` is its folder in /proc."""
    return parse(procfs.read(f"{path}/mountinfo", 4 << 20))


def of_fd(path: str, fd: int, mounts: Mounts) -> Mount | None:
    """The mount of an open file, by the number that fdinfo gives."""
    found = _MOUNT_ID.search(procfs.read(f"{path}/fdinfo/{fd}", 1 << 14))
    return mounts.by_id.get(int(found.group(1))) if found else None
