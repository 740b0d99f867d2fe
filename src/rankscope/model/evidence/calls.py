"""What a prepared process noted of its own calls: sends and receives, roots and reductions, which torch's recorder lacks."""

from __future__ import annotations

from dataclasses import dataclass

from . import evidence
from .stacks import Frame


@dataclass(frozen=True)
class NotedCall:
    """One call of torch.distributed. ``state`` is inside (the call has not returned), posted (it returned and goes on by
    itself), waiting (somebody waits for it to end) or done.

    ``peer`` and ``root`` are ranks of the group; ``n`` counts the collectives of the group, or the messages of one
    direction, pair and tag, from 1. Times are nanoseconds since the epoch, 0 where it has not happened.
    """

    number: int
    op: str
    group: str
    state: str = "done"
    peer: int | None = None
    root: int | None = None
    reduction: str = ""
    dtype: str = ""
    numel: int = 0
    n: int = 0
    tag: int = 0
    entered_ns: int = 0
    waited_ns: int = 0
    frames: tuple[Frame, ...] = ()  # of the job's own code, innermost first


@dataclass(frozen=True)
class NotedGroup:
    """A group in which calls were noted: its members as world ranks, in group order, and its backend."""

    name: str
    desc: str = ""
    backend: str = ""
    ranks: tuple[int, ...] = ()


@evidence("calls")
@dataclass(frozen=True)
class Calls:
    """All unfinished calls and the newest finished ones, oldest first; ``begun`` is how many there were in all.

    ``server`` is the socket of torch's worker server inside the process, empty where there is none.
    """

    calls: tuple[NotedCall, ...]
    groups: tuple[NotedGroup, ...] = ()
    begun: int = 0
    read_at_ns: int = 0
    server: str = ""
