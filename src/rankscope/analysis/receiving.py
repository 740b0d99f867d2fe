"""Who waits for an answer that is under way, however slowly: bytes come, and it does not ask anew."""

from __future__ import annotations

from collections.abc import Iterator

from ..model.evidence.files import OpenFiles
from ..model.evidence.sockets import inode_of
from ..model.evidence.traffic import Flow, Traffic
from .callers import call_of
from .standing import Standing

# Between two looks; the signs of life that protocols send each other are smaller.
_SOME_BYTES = 4 << 10


def receives(standing: Standing) -> bool:
    """Whether bytes came between the looks on the connection from which the deciding thread reads, and none went out.

    Who asks again and again whether something is ready gets answers as well, and sends as many questions.
    """
    return any(
        now.received - before.received >= _SOME_BYTES and now.acknowledged == before.acknowledged
        for before, now in _awaited(standing)
    )


def _awaited(standing: Standing) -> Iterator[tuple[Flow, Flow]]:
    """What had come at the first and at the last look on each connection for which the deciding thread waits."""
    member, call = standing.member, call_of(standing)
    first, last, files = member.first(Traffic), member.latest(Traffic), member.latest(OpenFiles)
    if call is None or first is None or last is None or first is last or files is None:
        return
    inodes = {inode_of(one.target) for one in files.files if one.fd in call.fds}
    before = {flow.inode: flow for flow in first.flows if flow.inode in inodes}
    yield from ((before[flow.inode], flow) for flow in last.flows if flow.inode in before)
