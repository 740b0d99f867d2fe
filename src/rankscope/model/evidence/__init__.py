"""One file per kind of evidence. A record class names its kind with ``@evidence("kind")``; nothing else lists it."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import Any, Callable, TypeVar

T = TypeVar("T")
_KINDS: dict[str, type[Any]] = {}


def evidence(kind: str) -> Callable[[type[T]], type[T]]:
    """Register a frozen dataclass as the record of one kind of evidence."""

    def register(cls: type[T]) -> type[T]:
        cls.KIND = kind  # type: ignore[attr-defined]
        _KINDS[kind] = cls
        return cls

    return register


@functools.lru_cache(maxsize=1)
def kinds() -> dict[str, type[Any]]:
    """Every kind of evidence and its record class."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(_KINDS)


def kind(name: str) -> type[Any] | None:
    """The record class of one kind of evidence; others are not loaded for its sake where it is known already."""
    return _KINDS.get(name) or kinds().get(name)
