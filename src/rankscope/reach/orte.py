"""The hosts of an Open MPI job as its daemons are told them: ``login,node[1:1-3]@0(4)`` (orte_node_regex, Open MPI 3 and 4)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from .hostnames import LIMIT, told

_PARTS = re.compile(r"(?:[^,\[\]]|\[[^\]]*\])+")
_RANGE = re.compile(r"([^\[\]]*)\[(\d{1,2}):([\d,-]+)\]([^\[\]]*)")
_ENDS = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_MOST = 4096


def hosts(text: str, nodes: str = "") -> tuple[str, ...]:
    """The hosts; the first is that of mpirun, and is left out when the job itself has one node less than there are names."""
    names = list(itertools.islice(_names(text.partition("@")[0]), LIMIT))
    return tuple(names[1:] if nodes == str(len(names) - 1) else names)


def _names(text: str) -> Iterator[str]:
    for part in _PARTS.findall(text):
        ranged = _RANGE.fullmatch(part)
        found = _expanded(*ranged.groups()) if ranged else (part,)
        yield from (name for name in found if told(name))


def _expanded(prefix: str, width: str, ranges: str, suffix: str) -> Iterator[str]:
    """``node[3:7,9-11]`` has numbers of three digits; no more than any job has."""
    for piece in ranges.split(","):
        if ends := _ENDS.fullmatch(piece):
            first, last = int(ends[1]), int(ends[2] or ends[1])
            for number in range(first, last + 1) if last - first < _MOST else ():
                yield f"{prefix}{number:0{int(width)}d}{suffix}"
