"""A connection whose other host acknowledges nothing is the network's; a peer that is only slow, full or busy is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_one_machine import MAIN, One, body, causes, told

from rankscope.analysis import order
from rankscope.formats.gather import gather
from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.sockets import Socket, Sockets
from rankscope.model.evidence.stacks import Frame
from rankscope.model.process import Role
from rankscope.pipeline import judge

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


PUBLISHES = (
    "Process 902: python -m work\nPython v3.11.4 (python)\n\n"
    'Thread 902 (idle): "MainThread"\n    write (amqp/transport.py:352)\n    send (work.py:58)\n    main (work.py:77)\n'
)
HEAD = "State  Recv-Q  Send-Q    Local Address:Port     Peer Address:Port\n"
ROW = "ESTAB  0       {queue}      10.0.0.1:40918     10.0.0.7:5672   timer:({timer})\n\t cubic rto:120000 {more}\n"
PING = "3 packets transmitted, 3 received, 0% packet loss, time 2003ms\n"


@pytest.mark.parametrize(
    ("queue", "timer", "more", "lost"),
    [
        (463320, "on,1min42sec,11", "backoff:9 mss:1448 unacked:10 retrans:1/11 lost:10", True),
        (463320, "persist,1min42sec,9", "backoff:9 mss:1448 bytes_acked:81120441", False),
        (1448, "on,204ms,0", "mss:1448 unacked:1", False),
    ],
    ids=["sent again", "the peer has no room", "under way"],
)
def test_bytes_that_are_sent_again_and_again_are_lost_however_well_all_reads(
    queue: int, timer: str, more: str, lost: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order, "reads_well", lambda case: True)
    files = {"py-spy": PUBLISHES, "ss -tnoi": HEAD + ROW.format(queue=queue, timer=timer, more=more), "ping": PING}
    for name, text in files.items():
        (tmp_path / f"{name}.txt").write_text(text)
    verdict = judge(gather([tmp_path])).verdict
    assert (verdict.cls if verdict is not None else None) == ("network-blackhole" if lost else None)


def test_a_ping_that_loses_nothing_and_the_head_of_a_table_accuse_nobody(tmp_path: Path) -> None:
    for name, text in {"py-spy": PUBLISHES, "ss -tn": HEAD, "ping": PING, "note": "the worker hangs\n"}.items():
        (tmp_path / f"{name}.txt").write_text(text)
    found = {one.rule for one in judge(gather([tmp_path])).findings}
    assert not found & {"packets-vanish", "person-asked"}
