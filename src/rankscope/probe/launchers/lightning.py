"""Lightning's own launcher: the script starts itself again for local ranks 1 and up, and is local rank 0 itself.

The children carry LOCAL_RANK, NODE_RANK and WORLD_SIZE but no RANK; the parent sets its own variables while it runs, where /proc
cannot show them, so it is known by its children: the same script, and every local rank but 0.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping

from ..launcher import Claim, Launcher, Place, number, with_descendants
from ..table import Seen, Table


def find(table: Table, free: frozenset[int]) -> Iterator[Claim]:
    families: dict[int, dict[int, int]] = defaultdict(dict)
    for pid in sorted(free):
        seen = table.seen[pid]
        local = _local_rank(seen)
        if local and not _inherited(table, seen, local):
            families[seen.parent][local] = pid
    for parent, children in families.items():
        if parent not in free or not _same_program(table, parent, children):
            continue
        places = dict(_places(table, parent, children))
        members = tuple(pid for pid in with_descendants(table, (parent,)) if pid in free)
        world = next((place.world_size for place in places.values()), None)
        yield Claim("lightning", parent, places, members, world, max(children) + 1)


def _local_rank(seen: Seen) -> int | None:
    """The local rank of a child that Lightning started; None of anything else."""
    environ = seen.environ or {}
    if not seen.python or seen.state in "ZX" or "RANK" in environ or "TORCHELASTIC_RUN_ID" in environ:
        return None
    if number(environ, "NODE_RANK") is None or number(environ, "WORLD_SIZE") is None:
        return None
    return number(environ, "LOCAL_RANK")


def _inherited(table: Table, seen: Seen, local: int) -> bool:
    """Whether it has its number from its parent: a loader worker of a rank."""
    parent = table.seen.get(seen.parent)
    return parent is not None and number(parent.environ or {}, "LOCAL_RANK") == local


def _same_program(table: Table, parent: int, children: Mapping[int, int]) -> bool:
    """Whether the parent is a Python without a local rank, its children are numbered without holes, and run its script."""
    seen = table.seen[parent]
    if not seen.python or "LOCAL_RANK" in (seen.environ or {}):
        return False
    scripts = {_script(table.seen[pid]) for pid in children.values()}
    return len(scripts) == 1 and scripts == {_script(seen)} and _script(seen) != ""


def _script(seen: Seen) -> str:
    """The name of its file or module; Lightning gives its children the whole path, whatever the user typed."""
    name = next((part for part in seen.command[1:] if part.endswith(".py") or not part.startswith("-")), "")
    return os.path.basename(name)


def _places(table: Table, parent: int, children: Mapping[int, int]) -> Iterator[tuple[int, Place]]:
    """World rank = node rank × ranks per node + local rank (Lightning starts as many on every node)."""
    environ = table.seen[next(iter(children.values()))].environ or {}
    node, world = number(environ, "NODE_RANK") or 0, number(environ, "WORLD_SIZE")
    size = max(children) + 1
    for local, pid in {0: parent, **children}.items():
        yield pid, Place(node * size + local, local, world, size)


LAUNCHER = Launcher("lightning", 45, find)
