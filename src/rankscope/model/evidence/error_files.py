"""What ranks under torchrun wrote when they failed: ``error.json``, one per local rank."""

from __future__ import annotations

from dataclasses import dataclass

from . import evidence


@dataclass(frozen=True)
class ErrorFile:
    """One such file, as it is."""

    path: str
    rank: int | None
    text: str


@evidence("error-files")
@dataclass(frozen=True)
class ErrorFiles:
    """The error files of one attempt on one host; the ranks that wrote them may be gone."""

    files: tuple[ErrorFile, ...]
