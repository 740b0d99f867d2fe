"""One file per engine that reads stacks; each has ``make(proc) -> Engine``."""

from __future__ import annotations

import importlib
from typing import Any

from ..engine import Engine

# The names a user may type, and the file each stands for.
NAMES = {"memory": "memory", "py-spy": "pyspy", "pystack": "pystack"}


def make(name: str, proc: str = "/proc") -> Engine:
    """The engine of one name; raise KeyError for an unknown one."""
    engine: Engine = load(name).make(proc)
    return engine


def load(name: str) -> Any:
    """The file of an engine, before it is asked for anything."""
    return importlib.import_module(f"{__name__}.{NAMES[name]}")
