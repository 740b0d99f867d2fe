"""The control group that bounds how many processes and threads there may be (cgroups(7), the pids controller)."""

from __future__ import annotations

from dataclasses import dataclass

from . import evidence


@evidence("task-limit")
@dataclass(frozen=True)
class TaskLimit:
    """Of the groups above a process, the one with the least room: its path, how many tasks it has and may have."""

    path: str
    count: int
    limit: int

    @property
    def full(self) -> bool:
        """Whether the kernel refuses one more process or thread."""
        return self.count >= self.limit
