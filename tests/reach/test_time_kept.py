"""How much of the deadline is the nodes', and how much is kept for the verdict."""

from __future__ import annotations

import pytest

from rankscope.probe.errand import Errand as Asked
from rankscope.probe.sweep import Plan
from rankscope.reach import gather
from rankscope.reach.answers import Answers
from rankscope.reach.gather import Errand, Remote, Wish
from rankscope.reach.transport import Call, Hosts, Transport


def call(monkeypatch: pytest.MonkeyPatch, plan: Plan, count: int) -> Call:
    """What a transport is told for so many hosts."""
    calls: list[Call] = []
    transport = Transport("test", "test:", lambda *_: Hosts(()), lambda call, _: calls.append(call))
    monkeypatch.setattr(gather, "transports", lambda: {"test": transport})
    hosts = Hosts(tuple(f"n{number}" for number in range(count)))
    nothing = Wish(), b"", lambda _: None, lambda: None
    gather._send(Errand(Remote("test", ""), hosts, plan, *nothing), Answers(()))
    return calls[0]


@pytest.mark.parametrize(
    ("hosts", "plan", "expected_s"),
    [
        (1, Plan(2, 1.0, deadline_s=20.0), 18.993),
        (1024, Plan(2, 1.0, deadline_s=20.0), 11.832),
        (10_000, Plan(2, 1.0, deadline_s=20.0), 9.5),
        (10_000, Plan(10, 3.0, deadline_s=35.0), 34.0),
    ],
)
def test_the_more_hosts_the_more_time_is_kept_to_join_and_judge(
    monkeypatch: pytest.MonkeyPatch, hosts: int, plan: Plan, expected_s: float
) -> None:
    """A thousand hosts took thirteen seconds; the time that the sweeps need is never taken from them."""
    assert call(monkeypatch, plan, hosts).deadline_s == pytest.approx(expected_s)


@pytest.mark.parametrize("hosts", [1, 8, 500, 10_000])
@pytest.mark.parametrize("plan", [Plan(2, 1.0, deadline_s=20.0), Plan(10, 3.0, deadline_s=35.0),
                                  Plan(2, 60.0, deadline_s=68.0)])  # fmt: skip
def test_a_node_has_the_time_for_every_sweep_of_the_plan(
    monkeypatch: pytest.MonkeyPatch, hosts: int, plan: Plan
) -> None:
    """It waits for the common start, sleeps between the sweeps and looks; it ends by itself before the transport ends it."""
    told = call(monkeypatch, plan, hosts)
    node = Asked(**told.parcel.errand)  # type: ignore[arg-type]
    wait_s = node.start_s - node.sent_s if hosts > 1 else 0.0
    assert wait_s + plan.interval_s * (plan.sweeps - 1) + 2.5 <= node.deadline_s < told.deadline_s
    assert told.deadline_s < plan.deadline_s
