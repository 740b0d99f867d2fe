"""Many hosts in few words, as clusters write them: ``node[1-64]``, ``gpu[007-012], login``.

What is given to other programs is folded by ClusterShell (``reach/hostnames``), which a look at this host does not load.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ..model.ranks import RankSet

_NUMBERED = re.compile(r"(.*?)(\d{1,9})(\D*)")
_FEW, _MOST = 4, 8  # names that are told one by one; pieces of a folded list


def phrase(names: Sequence[str]) -> str:
    """A few names as they are, more of them folded; none is left out without a word."""
    if len(names) <= _FEW:
        return ", ".join(names)
    pieces = list(folded(names))
    more = f" and {len(pieces) - _MOST} more" if len(pieces) > _MOST else ""
    return f"{', '.join(pieces[:_MOST])}{more}"


def folded(names: Iterable[str]) -> Iterator[str]:
    """The names, those that differ in their last number alone as one."""
    series: dict[tuple[str, str | None], list[str]] = {}
    for name in dict.fromkeys(names):
        found = _NUMBERED.fullmatch(name)
        series.setdefault((found[1], found[3]) if found else (name, None), []).append(found[2] if found else "")
    for (before, behind), numbers in series.items():
        if behind is None:
            yield before
            continue
        padded = any(number.startswith("0") and len(number) > 1 for number in numbers)
        for width in sorted({len(number) for number in numbers}) if padded else (0,):
            yield f"{before}{_range([number for number in numbers if not padded or len(number) == width], width)}{behind}"


def _range(numbers: list[str], width: int) -> str:
    if len(numbers) == 1:
        return numbers[0]
    told = str(RankSet(map(int, numbers)))
    return f"[{re.sub('[0-9]+', lambda found: found[0].zfill(width), told)}]"
