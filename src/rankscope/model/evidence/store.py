"""The job's key-value store (TCPStore): who has arrived where. Only names of keys are kept, never what they hold."""

from __future__ import annotations

from dataclasses import dataclass

from . import evidence


@evidence("store")
@dataclass(frozen=True)
class StoreKeys:
    """One look at the store. ``listed`` is False when it was only asked for keys we could guess (before torch 2.10);
    ``ranks_asked`` where that were not those of all ranks, but of this many."""

    address: str
    keys: tuple[str, ...] = ()
    count: int = 0
    listed: bool = True
    ranks_asked: int | None = None
