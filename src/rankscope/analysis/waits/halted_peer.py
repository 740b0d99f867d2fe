"""Who waits for a thread of a library that speaks for it waits for the process at the other end of a connection that is halted.

Libraries such as ZeroMQ and gRPC send and receive in threads of their own, and whoever calls them waits on a descriptor that
leads to no peer. Who holds the other ends of the process's connections the kernel tells all the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model.diagnosis import Wait
from ...model.evidence.sockets import Sockets
from ...model.process import Role
from ..callers import call_of
from ..ends import eldest, ends, other_end, targets
from ..frame_tables import WaitKind
from ..scene import Scene
from ..standing import Standing

_HALTED = ("T", "t")
_THROUGH = (WaitKind.SOCKET, WaitKind.PIPE, WaitKind.LIBRARY)


def find(scene: Scene) -> Iterator[Wait]:
    halted = {
        ref for ref, one in scene.standings.items() if one.state in _HALTED and one.member.role is not Role.HELPER
    }
    if not halted:
        return
    held = ends(scene)
    for standing in scene.standings.values():
        ref, sockets = standing.member.ref, standing.member.latest(Sockets)
        if sockets is None or not _through_another(standing):
            continue
        for one in sockets.sockets:
            # A child that was forked holds copies of its parent's ends, and does not use them.
            for peer in eldest(scene, held.of_peer(ref.host, one)):
                if peer in halted and not one.unaccepted:
                    yield Wait(ref, peer, other_end(one), standing.still_s)


def _through_another(standing: Standing) -> bool:
    """Whether it stands in a call that names no peer itself."""
    if standing.state in _HALTED or standing.kind not in _THROUGH or standing.ran is not False:
        return False
    call = call_of(standing)
    return call is not None and not any(True for _ in targets(standing.member, call.fds))
