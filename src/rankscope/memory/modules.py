"""The modules of an interpreter: ``sys.modules`` as it lies in memory."""

from __future__ import annotations

from . import dicts
from .objects import Objects


def namespace(objects: Objects, interpreter: int, name: str) -> int:
    """The address of the dict that holds a module's globals, 0 where it has not been imported."""
    modules = objects.pointer(interpreter + objects.layout.interp_modules)
    module = dicts.lookup(objects, modules, name) if modules else 0
    return objects.pointer(module + objects.layout.module_dict) if module else 0
