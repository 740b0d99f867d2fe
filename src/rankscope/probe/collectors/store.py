"""The keys of the job's TCPStore, asked over the network where it runs on this host: who has arrived in which group.

Asks only: a fixed exchange that reads names of keys. The address comes from the job, so only this host's own are asked.
"""

from __future__ import annotations

import socket

from ...model.evidence.environ import Environ
from ...model.evidence.store import StoreKeys
from ...model.gap import Gap
from ...model.process import Role
from ...model.ranks import port_of
from .. import store
from ..collector import Collector, Target, Touch


def collect(target: Target) -> StoreKeys | Gap | None:
    environ = target.seen.get("environ")
    values = environ.values if isinstance(environ, Environ) else {}
    host, port = values.get("MASTER_ADDR", ""), port_of(values.get("MASTER_PORT", ""))
    asked = target.shelf.setdefault("asked", set())
    if not host or port is None or (host, port) in asked:
        return None
    asked.add((host, port))
    where = _here(host)
    return store.ask(where, port, target.process.world_size or 0) if where else None


def _here(host: str) -> str:
    """The address to ask, when it is one of this host's own; empty otherwise (an address one can bind to is ours)."""
    try:
        for family, kind, _, _, address in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[:4]:
            with socket.socket(family, kind) as own:
                try:
                    own.bind((address[0], 0))
                    return str(address[0])
                except OSError:
                    continue
    except OSError:
        return ""
    return ""


COLLECTOR = Collector(
    "store", Touch.ASKS, 6.0, collect, every_sweep=False, roles=frozenset({Role.RANK}), order=60, shared=True
)  # after the environment, which says where it is
