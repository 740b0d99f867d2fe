"""Log lines → events in one vocabulary: one file per family of programs; each module here has a ``Reader``.

Every module also names ``NEEDLES``: a line that has none of them cannot concern it, and is never shown to it.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import Any


@functools.cache
def families() -> tuple[Any, ...]:
    """The modules of this folder, in the order of their names."""
    return tuple(
        importlib.import_module(f"{__name__}.{info.name}")
        for info in pkgutil.iter_modules(__path__)
        if not info.name.startswith("_")
    )
