"""The environment a process was started with: a known list of names, no others, because others may be secrets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from . import evidence


@evidence("environ")
@dataclass(frozen=True)
class Environ:
    """Allowed variables at exec. What a process set on itself later is not here (proc(5))."""

    values: Mapping[str, str] = field(default_factory=dict)
