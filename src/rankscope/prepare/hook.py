"""Waits until torch.distributed is imported, and wraps its functions before anybody else gets hold of them."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from typing import Any

MODULE = "torch.distributed.distributed_c10d"
BUFFERS = ("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE")  # the second is its name up to torch 2.8


def install() -> None:
    """Arm at once where torch.distributed is there already, else as soon as it is imported."""
    if MODULE in sys.modules:
        arm(sys.modules[MODULE])
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder):
    """Finds nothing itself; adds our word to the loader of one module, and goes."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != MODULE:
            return None
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            with contextlib.suppress(Exception):
                _extend(spec.loader)
        return spec


def _extend(loader: Any) -> None:
    original = loader.exec_module

    def exec_module(module: Any) -> None:
        original(module)
        with contextlib.suppress(Exception):
            arm(module)

    loader.exec_module = exec_module


def arm(module: Any) -> None:
    """Switch the recorder on, wrap the functions of the module and the names that others copied from it."""
    from . import wrap

    if not any(os.environ.get(name) for name in BUFFERS) and _older_than(2, 11):
        os.environ.update(dict.fromkeys(BUFFERS, "2000"))
    wrap.wrap(module)


def _older_than(major: int, minor: int) -> bool:
    version = str(getattr(sys.modules.get("torch.version"), "__version__", "0.0"))
    first, second = version.split(".")[:2]
    return (int(first), int(second)) < (major, minor)
