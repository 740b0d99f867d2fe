"""The commands about a meeting point ask for its port, where that is known, and not for the usual one."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_live_rules import MAIN, Body, job

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Kind
from rankscope.model.evidence.environ import Environ
from rankscope.model.evidence.stacks import Stack
from rankscope.pipeline import case_of, judge
from rankscope.rules.told._ports import USUAL, asking

TAKEN = (
    "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. "
    "port: {port}, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use\n"
)
TRIES = (
    "[W1129 22:28:20.957 socket.cpp:764] [c10d] The client socket has failed to connect to [::ffff:192.0.2.7]:{port} "
    "(errno: 111 - Connection refused).\n"
)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (TAKEN.format(port=18479), "ss -ltnp | grep :18479"),
        (TRIES.format(port=25205), "ss -ltnp | grep :25205   # on the master"),
        ("RuntimeError: Address already in use\n", "ss -ltnp | grep :29500"),
        (TAKEN.format(port=18479) + TRIES.format(port=25205), "ss -ltnp | grep :18479"),
    ],
)
def test_the_port_is_that_of_the_message(text: str, asked: str, tmp_path: Path) -> None:
    (tmp_path / "console.txt").write_text(text)
    told = judge(gather([tmp_path]))
    assert any(str(step).startswith(asked) or str(step).endswith(asked) for step in told.next), told.next


def test_where_the_messages_name_two_ports_neither_is_asked_for() -> None:
    lines = [TAKEN.format(port=18479), TRIES.format(port=25205)]
    assert asking((USUAL,), case_of(job()), lines) == (USUAL,)


def test_the_port_that_the_ranks_were_given_is_asked_for() -> None:
    """Where no message names one."""
    given = Environ({"MASTER_PORT": "31001"})
    bodies = [Body(70 + rank, Stack([MAIN]), rank=rank, more=(given,)) for rank in range(2)]
    assert asking((USUAL,), case_of(job(*bodies)), ["RuntimeError: Address already in use"]) == ("31001",)


def test_that_the_port_is_taken_is_no_trouble_of_the_store(tmp_path: Path) -> None:
    (tmp_path / "console.txt").write_text(TAKEN.format(port=18479))
    causes = [one.cls for one in judge(gather([tmp_path])).findings if one.kind is Kind.CAUSE]
    assert causes == ["rendezvous-port"]
