"""File systems that a process works on: which, from where, and how much is left."""

from __future__ import annotations

from dataclasses import dataclass

from . import evidence


@dataclass(frozen=True)
class Mount:
    """One mounted file system: where it is seen, what kind it is and where it comes from (``server:/export``, a device)."""

    place: str
    kind: str
    source: str = ""


@dataclass(frozen=True)
class Room:
    """What is left on one file system; ``used_for`` says what the process does there (cwd, shm, or the file it writes)."""

    mount: Mount
    used_for: str
    free_bytes: int
    size_bytes: int
    free_files: int = -1  # -1 where the file system does not count files

    @property
    def full(self) -> bool:
        """Whether not even a small file fits."""
        return self.size_bytes > 0 and (self.free_bytes < 1 << 12 or self.free_files == 0)


@evidence("space")
@dataclass(frozen=True)
class Space:
    """The file systems of the working directory, of /dev/shm and of every file that is open for writing."""

    rooms: tuple[Room, ...]


@evidence("mounts")
@dataclass(frozen=True)
class WaitedMounts:
    """Of a process that waits inside the kernel for storage: the mounts behind the files it waits on.

    Where no descriptor tells (open, stat), ``known`` is False and the mounts are all that come from a server.
    """

    mounts: tuple[Mount, ...]
    known: bool = True
