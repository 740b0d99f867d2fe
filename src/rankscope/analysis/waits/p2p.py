"""A rank in a send or receive waits for the peer that the call names (``src`` or ``dst`` among its locals).

Where recorders hold messages (NCCL's, and those of prepared ranks), they decide. gloo's has none, so the arguments of the
blocked call are all there is.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model.diagnosis import Wait
from ...model.process import Role
from ..frame_tables import Kind
from ..identity import birth
from ..scene import Scene
from ..standing import Standing

_PEERS = ("src", "dst", "group_src", "group_dst", "peer", "source", "dest")


def find(scene: Scene) -> Iterator[Wait]:
    for standing in scene.of_role(Role.RANK):
        rank = standing.member.rank
        if standing.kind is not Kind.P2P or rank is None:
            continue
        if rank in scene.rank_edges:
            for target, why in scene.rank_edges[rank]:
                yield Wait(standing.member.ref, scene.rank_ref(target), why, standing.still_s)
            continue
        peer = peer_of(standing)
        if peer is not None and peer != rank and (peer in scene.ranks or peer in scene.missing):
            yield Wait(
                standing.member.ref, scene.rank_ref(peer), f"{standing.wait.op} with rank {peer}", standing.still_s
            )


def peer_of(standing: Standing) -> int | None:
    """The rank that the blocked call names; the outermost library frame holds the world rank."""
    if standing.thread is None:
        return None
    user = standing.wait.user + birth(standing.thread.stack)
    found = {
        (local.depth, local.name): int(local.value)
        for local in standing.thread.locals
        if local.depth > user and local.name in _PEERS and local.value.isdigit()
    }
    return next((found[key] for key in sorted(found, key=lambda key: (key[0], _PEERS.index(key[1])))), None)
