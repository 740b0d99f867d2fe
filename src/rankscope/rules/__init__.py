"""case → findings: one file per diagnosis, named after what is found. The module's docstring is the user's page.

``seen`` holds the rules about what was read from processes and recorders, live or in a file; ``told`` those about what texts
tell: logs, pasted stacks, words of people. Neither knows the other. Every module there without an underscore is a rule and has
``RULE``; no list names it.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..analysis.case import Case
from ..model.diagnosis import Finding
from . import seen, told

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
    yields_to: tuple[str, ...] = ()  # rules that know better: where one of them has spoken, this one is not asked


def make_rule(
    module: str, page: str | None, cls: str, order: int, check: Check, yields_to: tuple[str, ...] = ()
) -> Rule:
    """A rule that is called as its file is: ``make_rule(__name__, __doc__, …)``."""
    return Rule(module.rpartition(".")[2].replace("_", "-"), cls, check, page or "", order, yields_to)


@functools.cache
def rules() -> tuple[Rule, ...]:
    """All rules, in the order in which they speak."""
    found = (
        importlib.import_module(f"{kind.__name__}.{info.name}").RULE
        for kind in (seen, told)
        for info in pkgutil.iter_modules(kind.__path__)
        if not info.name.startswith("_")
    )
    return tuple(sorted(found, key=lambda rule: (rule.order, rule.id)))
