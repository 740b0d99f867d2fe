"""Whoever is accused is judged by its own age, not by that of those who wait for it."""

from __future__ import annotations

import dataclasses

import pytest
from test_one_machine import DIST, LOCK, MAIN, STEP, Body, One, body, told

from rankscope.model.diagnosis import Certainty, Diagnosis, Finding
from rankscope.model.evidence.threads import Threads
from rankscope.model.process import Role

REDUCES = One((MAIN, STEP, dataclasses.replace(STEP, function="all_reduce", file=DIST, line=2000)), LOCK)


def rank(number: int, *threads: One, more: tuple[object, ...] = ()) -> Body:
    """One rank of a job."""
    return body(70 + number, *threads, role=Role.RANK, rank=number, more=more)


def moving_bytes(one: Body, count: int) -> Body:
    """The same process, which writes so many bytes between the looks."""
    process, looks = one
    return process, tuple(
        tuple(dataclasses.replace(record, read_bytes=0, written_bytes=at * count) if isinstance(record, Threads) else record
              for record in look)
        for at, look in enumerate(looks)
    )  # fmt: skip


def of_rule(found: Diagnosis, rule: str) -> Finding | None:
    return next((one for one in found.findings if one.rule == rule), None)


@pytest.mark.parametrize(
    ("still_s", "turns", "written", "certainty", "state"),
    [
        (99.0, 0, 0, Certainty.CERTAIN, "stuck"),
        (2.0, 0, 0, Certainty.POSSIBLE, "stuck"),
        (0.01, 40, 0, Certainty.POSSIBLE, "stuck"),
        (0.01, 40, 200 << 20, None, "slow"),
    ],
)
def test_a_checkpoint_that_gets_on_is_no_stalled_file_system(
    still_s: float, turns: int, written: int, certainty: Certainty | None, state: str
) -> None:
    """Its writer is often found in state D; only one that has stood there itself for long is stalled for certain."""
    writes = One((MAIN, STEP), state="D", wchan="folio_wait_bit_common", still_s=still_s, turns=turns)
    found = told(moving_bytes(rank(0, writes), written), rank(1, REDUCES), rank(2, REDUCES), launcher="torchrun")
    stalled = of_rule(found, "filesystem-stall")
    assert (stalled.certainty if stalled else None, found.state.value) == (certainty, state)
    assert stalled is None or bool(stalled.against) is (certainty is Certainty.POSSIBLE)
