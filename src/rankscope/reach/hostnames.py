"""Names of hosts: which are allowed, and sets of them written the way clusters write them (``node[1-8,12]``, ``@group``)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..errors import RankscopeError

# A name that began with a dash would be an option of ssh; anything else a shell or ssh might read has no place in one.
_ALLOWED = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:-]{0,252}")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}@")
_TOLD = re.compile(r"[A-Za-z0-9._:,\[\]-]+")
_RANGES = re.compile(r"(\d{1,18})-(\d{1,18})")
LIMIT = 100_000


def valid(name: str) -> bool:
    """Whether this is a host name (or address) that may be handed to another program; ``user@`` may stand before it."""
    user = _USER.match(name)
    return _ALLOWED.fullmatch(name[user.end() :] if user else name) is not None


def told(name: str) -> bool:
    """Whether this is a host name as a job may tell it: as whom to log in there is for the user alone to say."""
    return _ALLOWED.fullmatch(name) is not None


def expand_told(text: str) -> tuple[str, ...]:
    """The hosts of a set that a job tells, such as ``node[1-8]``; groups and wildcards make a site's own commands run, and are
    the user's alone."""
    return tuple(filter(told, expand(text))) if _TOLD.fullmatch(text) else ()


def check(names: Iterable[str]) -> tuple[str, ...]:
    """The names, each once, in their order; raise RankscopeError at the first that is none."""
    found = tuple(dict.fromkeys(names))
    for name in found:
        if not valid(name):
            raise RankscopeError(
                f"this is not a host name: {name[:60]!r}", "letters, digits and . _ : - only, and no dash in front",
                "rankscope hosts TARGET   # shows what a target stands for",
            )  # fmt: skip
    if len(found) > LIMIT:
        raise RankscopeError(f"{len(found)} hosts are more than I ask at once", f"the limit is {LIMIT}")
    return found


def expand(text: str) -> tuple[str, ...]:
    """The hosts of a set such as ``node[1-8,12],login`` or ``@group``; raise RankscopeError when it is none."""
    from ClusterShell.NodeSet import NodeSet, NodeSetException
    from ClusterShell.NodeUtils import GroupResolverError, GroupSourceError

    if text.lstrip().startswith("-"):
        check([text])
    if any(int(last) - int(first) >= LIMIT for first, last in _RANGES.findall(text)):
        raise RankscopeError(f"these are more hosts than I ask at once: {text[:80]!r}", f"the limit is {LIMIT}")
    try:
        names = [str(node) for node in NodeSet(text)]
    except (NodeSetException, GroupResolverError, GroupSourceError, ValueError) as error:
        raise RankscopeError(
            f"I do not understand the hosts {text[:80]!r}", str(error)[:200], "ssh:node[1-8]     or   ssh:node1,node7"
        ) from error
    if not names:
        raise RankscopeError(
            "the set of hosts is empty",
            f"{text[:80]!r} names none",
            "ssh:node[1-8]     or a group of ClusterShell (nodeset -L)",
        )
    return check(names)


def fold(names: Iterable[str]) -> str:
    """The hosts as one set: ``node[1-8,12]``."""
    from ClusterShell.NodeSet import NodeSet, NodeSetException

    names = list(names)
    try:
        return str(NodeSet.fromlist(names))
    except (NodeSetException, ValueError):
        return ",".join(names)
