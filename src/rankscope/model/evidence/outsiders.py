"""Processes that are no part of the job and hold the other end of what one of its threads waits on."""

from __future__ import annotations

from dataclasses import dataclass

from . import evidence


@dataclass(frozen=True)
class Outsider:
    """One process at the other end of a pipe or socket: ``inode`` is its end's, ``fd`` the waiting thread's descriptor."""

    pid: int
    comm: str
    state: str
    fd: int
    inode: int
    parent: int = 0


@evidence("outsiders")
@dataclass(frozen=True)
class Outsiders:
    """Who holds the other ends of the descriptors on which the threads of one process wait, one at a time."""

    found: tuple[Outsider, ...]
