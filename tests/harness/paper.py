"""What jobs that exist on paper are made of: their first moment, and the calls of their programs."""

from __future__ import annotations

from dataclasses import dataclass

T0 = 1_790_000_000_000_000_000


@dataclass(frozen=True)
class Call:
    """A collective of a group, or a message to (from) a peer, given as rank of the group; ``batch`` ties messages together."""

    group: str
    op: str = "all_reduce"
    sizes: tuple[int, ...] = (64,)
    out: tuple[int, ...] | None = None
    dtype: str = "Float"
    peer: int | None = None
    batch: int = 0
    site: tuple[str, str, int] = ("step", "train.py", 10)
