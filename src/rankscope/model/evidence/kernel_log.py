"""The end of a host's kernel log, as far as it speaks of processes that were killed, devices that failed or waits that hung."""

from __future__ import annotations

from dataclasses import dataclass

from . import evidence


@dataclass(frozen=True)
class KernelLine:
    """One message; ``at_s`` counts seconds since boot, as the start times of processes do."""

    at_s: float
    text: str


@evidence("kernel-log")
@dataclass(frozen=True)
class KernelLog:
    """Messages that came after the job began, oldest first."""

    lines: tuple[KernelLine, ...]
