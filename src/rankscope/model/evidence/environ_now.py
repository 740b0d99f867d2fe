"""What a process that no launcher numbered calls itself in its environment by now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from . import evidence


@evidence("environ-now")
@dataclass(frozen=True)
class EnvironNow:
    """The variables that give a process its place in a job, as they are at this moment, set before or after exec."""

    values: Mapping[str, str] = field(default_factory=dict)

    def number(self, name: str) -> int | None:
        """A variable as a whole number, None where it is none."""
        value = self.values.get(name, "")
        return int(value) if value.isascii() and value.isdigit() and len(value) < 8 else None
