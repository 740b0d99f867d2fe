"""Lock files that a thread of the job waits for."""

from __future__ import annotations

from dataclasses import dataclass

from . import evidence


@dataclass(frozen=True)
class LockFile:
    """One lock file: ``age_s`` since it was last changed (None when it is not there); ``holders`` are pids that have it open.

    ``served`` tells whether it lies on a file system that other hosts may share, whose processes are not among the holders;
    None where that is unknown.
    """

    path: str
    age_s: float | None = None
    holders: tuple[int, ...] = ()
    served: bool | None = None


@evidence("lock-files")
@dataclass(frozen=True)
class LockFiles:
    """The lock files that the stacks of one process name."""

    files: tuple[LockFile, ...]
