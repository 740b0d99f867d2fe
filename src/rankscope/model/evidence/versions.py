"""Which builds of the libraries that matter are mapped into a process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from . import evidence


@evidence("versions")
@dataclass(frozen=True)
class Versions:
    """``versions`` maps a name (python, torch, nccl, cuda …) to its version; ``libraries`` a soname to its path."""

    versions: Mapping[str, str] = field(default_factory=dict)
    libraries: Mapping[str, str] = field(default_factory=dict)
