"""One table of offsets per CPython version, and the choice among them; from 3.13 on the process brings its own."""

from __future__ import annotations

import functools
import importlib

from .layout import Attributes, Layout, Lines

__all__ = ["TABLES", "Attributes", "Layout", "Lines", "table"]

TABLES = ((3, 8), (3, 9), (3, 10), (3, 11), (3, 12), (3, 13))


@functools.cache
def table(version: tuple[int, int]) -> Layout | None:
    """The measured table of a version, None where there is none."""
    if version not in TABLES:
        return None
    layout: Layout = importlib.import_module(f"{__name__}.py{version[0]}{version[1]}").LAYOUT
    return layout
