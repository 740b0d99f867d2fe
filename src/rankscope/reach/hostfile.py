"""``hostfile:PATH``: the hosts of a file, reached by ssh. Reads DeepSpeed's (``host slots=8``), MPI's (``host:8``, ``host
slots=8 max_slots=8``) and plain lists; ``#`` begins a comment, a line may hold a set (``node[1-8]``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from ..errors import RankscopeError
from . import hostnames, ssh
from .transport import Hosts, Options, Transport

SIZE_LIMIT = 8 << 20
_COUNT = re.compile(r":\d+$")


def parse(text: str) -> Iterator[str]:
    """The hosts a file names, in its order."""
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if not words or words[0].startswith("+"):
            continue
        # Two colons or more are an IPv6 address, not a host and a count of slots.
        name = _COUNT.sub("", words[0]) if words[0].count(":") == 1 else words[0]
        yield from hostnames.expand(name) if "[" in name or "," in name or name.startswith("@") else (name,)


def read_hosts(path: str) -> tuple[str, ...]:
    """The hosts of a file; raise RankscopeError when there are none."""
    if not path:
        raise RankscopeError(
            "hostfile: needs a file", "none stands behind the colon", "hostfile:PATH, or ssh:node[1-8]"
        )
    try:
        with open(os.path.expanduser(path), encoding="utf-8", errors="replace") as file:
            text = file.read(SIZE_LIMIT)
    except OSError as error:
        hint = "hostfile:PATH, or ssh:node[1-8]"
        raise RankscopeError(f"cannot read the host file {path}", error.strerror or str(error), hint) from error
    names = hostnames.check(parse(text))
    if not names:
        raise RankscopeError(
            f"the host file {path} names no host", "it is empty", "one host in each line: node1 slots=8"
        )
    return names


def find(spec: str, options: Options) -> Hosts:
    """The hosts of the file."""
    return Hosts(read_hosts(spec))


TRANSPORT = Transport("hostfile", "hostfile:PATH", find, ssh.ask)
