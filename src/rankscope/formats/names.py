"""The rank in a file's name: after a word that means it, or the number in which a directory's names differ."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from ..model.patterns import regex

_WORDED = regex(r"(?<![A-Za-z])(global[_-]?rank|rank|TP|trace_|dump_)[_\- =.]?(\d{1,7})(?!\d)", re.IGNORECASE)
_NUMBER = regex(r"\d+")
_ENDINGS = regex(r"(?:\.(?:pickle|pkl|json|txt|log|gz|bin|trace|out|err|dump|locals)){1,8}$", re.IGNORECASE)


def rank_from_names(names: Sequence[str]) -> dict[str, int]:
    """World ranks by name; names that do not say are left out."""
    found = {name: rank for name in names if (rank := rank_in(name)) is not None}
    rest = [name for name in names if name not in found]
    by_directory: dict[str, list[str]] = {}
    for name in rest:
        by_directory.setdefault(os.path.dirname(name), []).append(name)
    for siblings in by_directory.values():
        found.update(_varying(siblings))
    return found


def rank_in(name: str) -> int | None:
    """The rank that one name says by itself; the last part of a path that says so counts."""
    for part in reversed(name.split("/")):
        said = _WORDED.findall(_words(part))
        if said:  # "rank5_tp1" is rank 5: its place in a group is another number
            return int(next((number for word, number in reversed(said) if "rank" in word.lower()), said[-1][1]))
    return None


def _words(part: str) -> str:
    # "nccl_trace_rank_5" says rank 5, not trace; "_rank" must start a word although "_" is a letter to \b.
    return part.replace("_rank", " rank")


def _varying(siblings: Iterable[str]) -> dict[str, int]:
    """Names that are equal but for one number, all different."""
    numbers: dict[str, list[str]] = {}
    shapes = set()
    for name in siblings:
        base = _ENDINGS.sub("", os.path.basename(name))
        numbers[name] = _NUMBER.findall(base)
        shapes.add(_NUMBER.sub("#", base))
    if len(numbers) < 2 or len(shapes) != 1 or len(set(map(len, numbers.values()))) != 1:
        return {}
    columns = list(zip(*numbers.values(), strict=True))
    varying = [at for at, column in enumerate(columns) if len(set(column)) > 1]
    # Where names hold the host too (torch's prefix with "%h"), the rank is what comes last and never twice.
    if not varying or (len(varying) > 1 and varying[-1] != len(columns) - 1):
        return {}
    rank = varying[-1]
    if len(set(columns[rank])) != len(numbers):
        return {}
    return {name: int(found[rank]) for name, found in numbers.items() if len(found[rank]) <= 7}
