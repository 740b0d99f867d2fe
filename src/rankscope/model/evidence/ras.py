"""NCCL's RAS report: what every communicator says of its ranks (NCCL user guide, RAS; since NCCL 2.24)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from . import evidence


@dataclass(frozen=True)
class RasRank:
    """One rank of a communicator. ``counts`` are launched operations by type; ``answers`` is False when it is silent.

    ``dead`` is RAS's own word for a process it could not reach for a minute.
    """

    rank: int
    host: str = ""
    pid: int = 0
    device: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    answers: bool = True
    dead: bool = False


@dataclass(frozen=True)
class Communicator:
    """One communicator; a text report lists only its outliers, with ``usual`` counts for all others."""

    id: str
    size: int = 0
    ranks: tuple[RasRank, ...] = ()
    usual: Mapping[str, int] = field(default_factory=dict)
    errors: str = ""


@evidence("ras")
@dataclass(frozen=True)
class RasReport:
    """One answer of RAS. One alone may show skew: operations are launched while it asks around."""

    communicators: tuple[Communicator, ...] = ()
    version: str = ""
    at: str = ""
    timeouts: int = 0
