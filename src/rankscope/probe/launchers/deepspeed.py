"""``deepspeed``: on every host ``deepspeed.launcher.launch`` starts the ranks with RANK, LOCAL_RANK and WORLD_SIZE.

Its command line holds ``--world_info=BASE64``, a table host → devices, which promises how many ranks run here and in all.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator

from ...model.ranks import number_of
from ..launcher import Claim, Launcher, ranks_by_environ, torch_place, with_descendants
from ..table import Seen, Table

_MODULE = "deepspeed.launcher.launch"
_LIMIT = 1 << 16


def find(table: Table, free: frozenset[int]) -> Iterator[Claim]:
    ranks = ranks_by_environ(table, free, torch_place)
    for pid in sorted(free):
        seen = table.seen[pid]
        if not seen.python or _MODULE not in seen.command or _MODULE in _above(table, pid):
            continue
        members = tuple(one for one in with_descendants(table, (pid,)) if one in free)
        places = {one: ranks[one] for one in members if one in ranks}
        here, world = _promised(seen)
        said = next((place.world_size for place in places.values()), None)
        yield Claim("deepspeed", pid, places, members, said or world, here)


def _above(table: Table, pid: int) -> tuple[str, ...]:
    return tuple(part for seen in table.above(pid) if seen.python for part in seen.command)


def _promised(seen: Seen) -> tuple[int | None, int | None]:
    """How many ranks this host and the whole job should have; None where the command line does not tell."""
    words = {name: value for name, _, value in (part.partition("=") for part in seen.command)}
    try:
        text = words.get("--world_info", "")[:_LIMIT]
        table = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        sizes = [len(devices) for devices in table.values()]
        node = number_of(words.get("--node_rank", "0"))
        return (sizes[node] if node is not None and node < len(sizes) else None), sum(sizes) or None
    except (ValueError, TypeError, AttributeError, binascii.Error, RecursionError):
        return None, None


LAUNCHER = Launcher("deepspeed", 20, find)
