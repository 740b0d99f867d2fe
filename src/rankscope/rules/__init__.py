"""case → findings: one file per diagnosis, named after what is found. The module's docstring is the user's page.

A rule module has ``RULE``; every module in this folder that has one is a rule, no list names it.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..analysis.case import Case
from ..model.diagnosis import Finding

Check = Callable[[Case], Iterator[Finding]]


@dataclass(frozen=True)
class Rule:
    """``id`` is the file name with dashes; ``cls`` a name of ``model.classes``, or empty; ``check`` yields findings.

    The findings of a rule without ``cls`` are guesses, of any class.
    """

    id: str
    cls: str
    check: Check
    page: str = ""
    order: int = 100  # rules with a lower number speak first; ties by id


@functools.cache
def rules() -> tuple[Rule, ...]:
    """All rules of this folder, in the order in which they speak."""
    found = []
    for info in pkgutil.iter_modules(__path__):
        if info.name.startswith("_"):
            continue
        module = importlib.import_module(f"{__name__}.{info.name}")
        found.append(module.RULE)
    return tuple(sorted(found, key=lambda rule: (rule.order, rule.id)))
