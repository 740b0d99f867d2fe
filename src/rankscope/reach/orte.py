"""The hosts of an Open MPI job as its daemons are told them: ``login,node[1:1-3]@0(4)`` (orte_node_regex, Open MPI 3 and 4)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .hostnames import told

_PARTS = re.compile(r"(?:[^,\[\]]|\[[^\]]*\])+")
_RANGE = re.compile(r"([^\[\]]*)\[(\d{1,2}):([\d,-]+)\]([^\[\]]*)")
_MOST = 4096


def hosts(text: str, nodes: str = "") -> tuple[str, ...]:
    """The hosts; the first is that of mpirun, and is left out when the job itself has one node less than there are names."""
    names = list(_names(text.partition("@")[0]))
    return tuple(names[1:] if nodes == str(len(names) - 1) else names)


def _names(text: str) -> Iterator[str]:
    for part in _PARTS.findall(text):
        ranged = _RANGE.fullmatch(part)
        found = _expanded(*ranged.groups()) if ranged else (part,)
        yield from (name for name in found if told(name))


def _expanded(prefix: str, width: str, ranges: str, suffix: str) -> Iterator[str]:
    """``node[3:7,9-11]`` has numbers of three digits; no more than any job has."""
    for piece in ranges.split(","):
        first, dash, last = piece.partition("-")
        if first.isdigit() and (last.isdigit() or not dash) and int(last or first) - int(first) < _MOST:
            for number in range(int(first), int(last or first) + 1):
                yield f"{prefix}{number:0{int(width)}d}{suffix}"
