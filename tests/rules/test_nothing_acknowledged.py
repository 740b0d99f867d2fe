"""A connection whose other host acknowledges nothing is the network's; a peer that is only slow, full or busy is not."""

from __future__ import annotations

import pytest
from test_one_machine import MAIN, One, body, causes, told

from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.sockets import Socket, Sockets
from rankscope.model.evidence.stacks import Frame
from rankscope.model.process import Role

ASKS = Frame("pull", "/job/train.py", 9)
NEAR, FAR = "10.0.0.1:41013", "10.0.0.7:7019"


def accused(one: Socket, call: str = "recvfrom", beside: Socket | None = None) -> set[str]:
    """The rules that name a rank that waits on a connection, while its peer in the job waits for it."""
    pair = (Socket(70, "unix", peer_inode=71), Socket(71, "unix", peer_inode=70))
    files = tuple(
        OpenFiles((OpenFile(3, f"socket:[{70 + at}]", "rw"), OpenFile(4, "socket:[9]", "rw"))) for at in (0, 1)
    )
    first = body(70, One((MAIN, ASKS), BlockedCall(0, call, (4,)), wchan="wait_woken"), rank=0, role=Role.RANK,
                 more=(files[0], Sockets((pair[0], one))))  # fmt: skip
    waits = One((MAIN, ASKS), BlockedCall(0, "recvfrom", (3,)), wchan="unix_stream_read_generic")
    second = body(71, waits, rank=1, role=Role.RANK, more=(files[1], Sockets((pair[1], *([beside] if beside else [])))))
    return {rule for rule, _ in causes(told(first, second, launcher="environment"))}


@pytest.mark.parametrize(
    ("one", "call"),
    [
        (Socket(9, "tcp", NEAR, FAR, "syn-sent", resent=2), "connect"),
        (Socket(9, "tcp", NEAR, FAR, "syn-sent", resent=2), "poll"),
        (Socket(9, "tcp", NEAR, FAR, "established", send_queue=3, resent=5), "recvfrom"),
    ],
)
def test_what_nobody_acknowledges_is_lost_on_its_way(one: Socket, call: str) -> None:
    assert accused(one, call) == {"nothing-acknowledged"}


@pytest.mark.parametrize(
    ("one", "beside"),
    [
        (Socket(9, "tcp", NEAR, FAR, "established"), None),
        (Socket(9, "tcp", NEAR, FAR, "established", send_queue=3, resent=1), None),
        (Socket(9, "tcp", NEAR, FAR, "established", send_queue=9000), None),
        (Socket(9, "tcp", NEAR, FAR, "syn-sent", peer_inode=11, unaccepted=True), None),
        (Socket(9, "tcp", NEAR, FAR, "syn-sent", resent=2), Socket(11, "tcp", FAR, "0.0.0.0:0", "listen", 4)),
    ],
)
def test_a_late_answer_a_lost_packet_a_full_reader_and_a_busy_server_are_none(
    one: Socket, beside: Socket | None
) -> None:
    assert "nothing-acknowledged" not in accused(one, beside=beside)
