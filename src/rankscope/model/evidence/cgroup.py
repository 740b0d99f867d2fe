"""The control group that bounds a process's memory, and what happened in it (cgroups(7))."""

from __future__ import annotations

from dataclasses import dataclass

from . import evidence


@evidence("cgroup")
@dataclass(frozen=True)
class ControlGroup:
    """``oom_kills`` counts processes of the group that the kernel killed for memory; -1 where it does not tell.

    ``reached`` counts how often the limit was hit. ``limit_bytes`` is None without a limit. ``waits`` says that processes of
    the group wait for memory, since nobody is killed (version 1).
    """

    path: str
    version: int
    oom_kills: int = -1
    reached: int = -1
    limit_bytes: int | None = None
    usage_bytes: int | None = None
    waits: bool = False
