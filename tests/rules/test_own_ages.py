"""Whoever is accused is judged by its own age, not by that of those who wait for it."""

from __future__ import annotations

import dataclasses

import pytest
import test_live_rules as live
from test_one_machine import DIST, LOCK, MAIN, STEP, Body, One, body, told

from rankscope.model.diagnosis import Certainty, Diagnosis, Finding
from rankscope.model.evidence.stacks import Frame, Local, Stack
from rankscope.model.evidence.threads import Threads
from rankscope.model.process import Role
from rankscope.pipeline import judge

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


def messages(*calls: tuple[str, dict[str, int | None], float]) -> Diagnosis:
    """Ranks in calls that pass messages, each with its arguments and its age."""
    bodies = []
    for number, (op, known, still_s) in enumerate(calls):
        stack = Stack([live.MAIN, live.STEP, Frame(op, DIST, 2100)])
        arguments = tuple(Local(2, name, str(value)) for name, value in known.items())
        bodies.append(live.Body(70 + number, stack, rank=number, still_s=still_s, locals=(arguments, arguments)))
    return judge(live.job(*bodies, world=len(calls)))


@pytest.mark.parametrize(
    ("sender_s", "receiver_s", "tag", "circles", "state"),
    [
        (2.0, 40.0, 0, 0, "unknown"),  # a slow stage has begun to send a large message
        (40.0, 2.0, 0, 0, "unknown"),  # and here it has waited for the receiver
        (40.0, 40.0, 0, 0, "stuck"),  # what is wrong lies below the program
        (40.0, 40.0, 7, 1, "stuck"),  # messages of two tags never meet
        (2.0, 40.0, 7, 0, "unknown"),
    ],
)
def test_a_message_under_way_closes_no_circle(
    sender_s: float, receiver_s: float, tag: int, circles: int, state: str
) -> None:
    """The receiver has waited for long for a sender who has just come, and not the other way round."""
    found = messages(("send", {"dst": 1, "tag": 0}, sender_s), ("recv", {"src": 0, "tag": tag}, receiver_s))
    assert (sum(one.rule == "wait-cycle" for one in found.findings), found.state.value) == (circles, state)


def test_those_behind_a_message_under_way_wait_for_its_sender() -> None:
    """A pipeline of three, of which the first has begun to send: its age counts for all who wait behind it."""
    behind = ("recv", {"src": 1, "tag": 0}, 40.0)
    found = messages(("send", {"dst": 1, "tag": 0}, 2.0), ("recv", {"src": 0, "tag": 0}, 40.0), behind)
    assert (found.findings, found.state.value) == ((), "unknown")


@pytest.mark.parametrize(("still_s", "told"), [(40.0, True), (2.0, False)])
def test_a_circle_is_as_old_as_its_youngest_member(still_s: float, told: bool) -> None:
    found = messages(("send", {"dst": 1}, 40.0), ("send", {"dst": 0}, still_s))
    circle = of_rule(found, "wait-cycle")
    assert (circle is not None, found.state.value == "stuck") == (told, told)


def test_a_message_from_anybody_may_be_under_way() -> None:
    found = messages(("send", {"dst": 1}, 2.0), ("recv", {"src": None}, 40.0))
    assert [(wait.waiter.pid, wait.target and wait.target.pid) for wait in found.waits] == [(71, 70)]
