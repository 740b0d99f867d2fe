"""An answer that is under way is work, however slowly it comes; answers to one question after the other are not."""

from __future__ import annotations

import dataclasses

import pytest
from test_live_rules import LIB, MAIN, Body, job, ranks

from rankscope.analysis.receiving import receives
from rankscope.model.diagnosis import State
from rankscope.model.evidence.blocked import Blocked, BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.stacks import Frame, Stack
from rankscope.model.evidence.traffic import Flow, Traffic
from rankscope.model.snapshot import Snapshot
from rankscope.pipeline import case_of, judge

READS = Stack([MAIN, Frame("fetch", "/job/train.py", 21), Frame("SocketIO.readinto", f"{LIB}/socket.py", 705)])


def fetching(received: int, acknowledged: int, fd: int = 5) -> Snapshot:
    """Rank 2 reads from descriptor 5, for which the others wait; so many bytes come and go through ``fd`` between the looks."""
    files = OpenFiles((OpenFile(5, "socket:[900]", "rw"), OpenFile(6, "socket:[901]", "rw")))
    flow = Flow(900 if fd == 5 else 901, "10.0.0.1:40000", "10.9.9.9:80", 70_000, 400)
    reader = Body(72, READS, rank=2, wchan="wait_woken", more=(Blocked((BlockedCall(72, "recvfrom", (5,)),)), files))
    made = job(*ranks(reader), world=3)
    flows = (flow, dataclasses.replace(flow, received=70_000 + received, acknowledged=400 + acknowledged))
    sweeps = (
        dataclasses.replace(
            sweep, items=(*sweep.items, dataclasses.replace(sweep.items[0], process=reader.ref, record=Traffic((one,))))
        )
        for sweep, one in zip(made.sweeps, flows)
    )
    return dataclasses.replace(made, sweeps=tuple(sweeps))


@pytest.mark.parametrize(
    ("received", "acknowledged", "fd", "works"),
    [
        (28_000, 0, 5, True),
        (0, 0, 5, False),
        (17, 0, 5, False),  # a sign of life
        (28_000, 900, 5, False),  # it asks again and again
        (28_000, 0, 6, False),  # on a connection for which it does not wait
    ],
)
def test_who_gets_an_answer_is_behind_and_not_stuck(received: int, acknowledged: int, fd: int, works: bool) -> None:
    snapshot = fetching(received, acknowledged, fd)
    case = case_of(snapshot, 30.0)
    standing = next(one for one in case.standings.values() if one.member.rank == 2)
    assert receives(standing) is works
    said = judge(snapshot, 30.0)
    assert said.state is (State.SLOW if works else State.STUCK)
    assert said.verdict is not None
    assert said.verdict.cls == ("straggler-slow-rank" if works else "rank-stuck-in-user-code")
