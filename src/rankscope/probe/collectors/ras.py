"""NCCL's own view of the job (RAS, NCCL 2.24 and later), asked on this host's port: counts per rank and communicator.

Asks only: one fixed question. Only where a rank has NCCL loaded, and once a sweep for each address.
"""

from __future__ import annotations

from ...memory import maps
from ...model.evidence.environ import Environ
from ...model.evidence.ras import RasReport
from ...model.gap import Gap
from ...model.process import Role
from .. import ras
from ..collector import Collector, Target, Touch

_OWN = ("localhost:", "127.0.0.1:", "[::1]:")


def collect(target: Target) -> RasReport | Gap | None:
    environ = target.seen.get("environ")
    values = environ.values if isinstance(environ, Environ) else {}
    address = values.get("NCCL_RAS_ADDR", ras.DEFAULT)
    asked = target.shelf.setdefault("asked", {})
    first = asked.setdefault(address, target.process.ref.pid)
    if first != target.process.ref.pid or values.get("NCCL_RAS_ENABLE") == "0" or not address.startswith(_OWN):
        return None
    has_nccl = target.shelf.setdefault("nccl", {})
    if first not in has_nccl:
        has_nccl[first] = b"libnccl" in maps.read(target.proc, first)
    return ras.ask(address) if has_nccl[first] else None


COLLECTOR = Collector("ras", Touch.ASKS, 8.0, collect, roles=frozenset({Role.RANK}), order=61, shared=True)
