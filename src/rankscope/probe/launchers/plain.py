"""A Python parent with Python children and nothing in the environment: multiprocessing, torch.multiprocessing.spawn.

Which child is which rank only its stack tells (the analysis does that). multiprocessing never changes the process group,
so the group bounds the job: the test runner or notebook server that started it is not part of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..launcher import Claim, Launcher, is_python_program, with_descendants
from ..table import Seen, Table


def find(table: Table, free: frozenset[int]) -> Iterator[Claim]:
    mine = _own_line(table)
    for pid in sorted(free):
        seen = table.seen[pid]
        if pid in mine or not is_python_program(seen) or _python_parent(table, seen, free) is not None:
            continue
        children = [table.seen[child] for child in table.children.get(pid, ()) if child in free]
        if any(is_python_program(child) and child.pid not in mine for child in children):
            yield Claim("plain", pid, {}, tuple(p for p in with_descendants(table, (pid,)) if p in free))


def _python_parent(table: Table, seen: Seen, free: frozenset[int]) -> Seen | None:
    parent = table.seen.get(seen.parent)
    if parent is None or parent.pid not in free or not is_python_program(parent) or parent.group != seen.group:
        return None
    return parent


def _own_line(table: Table) -> set[int]:
    """This process and its ancestors: the tool does not diagnose the shell it was typed in."""
    return {os.getpid(), *(seen.pid for seen in table.above(os.getpid()))}


LAUNCHER = Launcher("plain", 90, find)
