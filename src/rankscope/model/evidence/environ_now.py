"""What a process that no launcher numbered calls itself in its environment by now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..ranks import number_of
from . import evidence


@evidence("environ-now")
@dataclass(frozen=True)
class EnvironNow:
    """The variables that give a process its place in a job, as they are at this moment, set before or after exec."""

    values: Mapping[str, str] = field(default_factory=dict)

    def number(self, name: str) -> int | None:
        """A variable as a rank or a number of ranks, None where it is neither."""
        return number_of(self.values.get(name, ""))
