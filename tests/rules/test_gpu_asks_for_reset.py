"""Tables of GPUs in which one needs a reset, or had an Xid that stands for hardware; and those of a node that is well."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Diagnosis
from rankscope.pipeline import judge

ACTIONS = "nvidia-smi --query-gpu=index,gpu_recovery_action --format=csv,noheader"
WITH_HEAD = "nvidia-smi --query-gpu=pci.bus_id,gpu_recovery_action,pstate --format=csv"


def judged(folder: Path, label: str, text: str) -> Diagnosis:
    """What one command printed, its name kept as that of the file."""
    (folder / f"{label.replace('/', '_')}.txt").write_text(text)
    return judge(gather([folder]))


@pytest.mark.parametrize("action", ["Reset", "GPU Reset", "Reboot", "Drain P2P", "Drain and Reset"])
def test_the_driver_asks_for_a_reset(action: str, tmp_path: Path) -> None:
    found = judged(tmp_path, ACTIONS, "".join(f"{card}, {action if card == 5 else None}\n" for card in range(8)))
    assert found.verdict is not None
    assert found.verdict.cls == "gpu-hardware-fault"


def test_the_column_may_stand_in_the_midst(tmp_path: Path) -> None:
    text = f"# {WITH_HEAD}\npci.bus_id, gpu_recovery_action, pstate\n00000000:3B:00.0, Reset, P0\n"
    found = judged(tmp_path, "look", text)
    assert found.verdict is not None
    assert found.verdict.cls == "gpu-hardware-fault"


def test_no_action_is_asked_for(tmp_path: Path) -> None:
    assert judged(tmp_path, ACTIONS, "".join(f"{card}, None\n" for card in range(8))).verdict is None


@pytest.mark.parametrize(("xid", "failed"), [(79, True), (120, True), (0, False), (13, False)])
@pytest.mark.parametrize("head", ["#Entity    XIDER\nID\n", "#Entity    GPUTL    XIDER\nID\n"])
def test_the_last_xid_of_each_gpu(head: str, xid: int, failed: bool, tmp_path: Path) -> None:
    use = "97       " if "GPUTL" in head else ""
    rows = "".join(f"GPU {card}      {use}{xid if card == 1 else 0}\n" for card in range(4))
    found = judged(tmp_path, "dcgmi dmon -c 1", head + rows)
    assert ("gpu-hardware-fault" in {one.cls for one in found.findings}) is failed
