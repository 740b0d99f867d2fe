"""Who runs in a call that asks again and again has not got on by that."""

from __future__ import annotations

import pytest

from rankscope.analysis.case import Member
from rankscope.analysis.frame_tables import WaitKind
from rankscope.analysis.frames import WaitState
from rankscope.analysis.standing import Standing
from rankscope.analysis.stillness import gets_on
from rankscope.model.process import Process, ProcessRef, Role

RANK = Member(Process(ProcessRef("n1", 70, 1), Role.RANK, rank=0), (), ())


@pytest.mark.parametrize(
    ("kind", "on"),
    [
        (WaitKind.COLLECTIVE, False),
        (WaitKind.RENDEZVOUS, False),
        (WaitKind.STORE, False),
        (WaitKind.USER, True),
        (WaitKind.CHECKPOINT, True),
    ],
)
def test_to_run_is_not_to_get_on_where_one_only_asks(kind: WaitKind, on: bool) -> None:
    assert gets_on(Standing(RANK, WaitState(kind), ran=True)) is on
    assert not gets_on(Standing(RANK, WaitState(kind), ran=False))
