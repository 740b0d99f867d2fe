"""An address on Docker's default bridge is its own machine's: containers of several machines do not meet at such ones."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Kind
from rankscope.pipeline import judge

NCCL = "b7:88:88 [0] NCCL INFO Bootstrap : Using eth0:172.17.0.3<0>\n"
STANDS = "two machines, one container on each; it hangs in the first all_reduce\n"


def accused(folder: pathlib.Path, text: str) -> bool:
    (folder / "notes.txt").write_text(text)
    found = judge(gather([folder])).findings
    return any(one.kind is Kind.CAUSE and one.rule == "wrong-interface" for one in found)


@pytest.mark.parametrize(
    "text",
    [
        NCCL + STANDS,
        "docker run on both hosts\nnode 2: Using interface eth0:172.17.0.2\nthe second node times out\n",
        "Local node IP: 172.17.0.4\nhead and worker in docker on different machines, the worker is stuck\n",
    ],
)
def test_containers_of_several_machines_do_not_meet_at_their_bridges(tmp_path: pathlib.Path, text: str) -> None:
    assert accused(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        NCCL + "one container with eight GPUs; it hangs in the first all_reduce\n",
        NCCL.replace("172.17.0.3", "10.4.0.3") + STANDS,
        NCCL + STANDS + "docker run --network host\n",
        NCCL + "two machines, one container on each\nstep 1\nstep 2\nstep 3\nstep 4\n",
        NCCL + "two machines of a cloud; it hangs in the first all_reduce\n",
    ],
)
def test_one_machine_or_a_network_of_all_is_no_sign(tmp_path: pathlib.Path, text: str) -> None:
    assert not accused(tmp_path, text)
