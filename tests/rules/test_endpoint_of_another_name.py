"""A launcher serves the store only where the endpoint is its own by name: a host that calls itself otherwise may not."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

LAUNCH = "torchrun --nnodes 2 --rdzv_backend c10d --rdzv_endpoint {} train.py\n"
ASKED = "root@trainer-0:/# hostname\ntrainer-0\n"
SILENT = "the rendezvous timed out on both\n"


def told(folder: pathlib.Path, text: str) -> bool:
    (folder / "notes.txt").write_text(text)
    findings = judge(gather([folder])).findings
    return any(one.rule == "meeting-point-unreachable" and "calls itself" in one.because[0].text for one in findings)


@pytest.mark.parametrize(
    "text",
    [
        LAUNCH.format("trainer-0.trainer:29400") + ASKED + SILENT,
        LAUNCH.format('"$HOST0"') + "$ echo $HOST0\ntrainer-0.jobs.svc.cluster.local\n$ hostname\ntrainer-0\n" + SILENT,
        LAUNCH.format("trainer-0.lab") + ASKED + "both nodes hang in the rendezvous\n",
    ],
)
def test_a_host_that_is_named_otherwise_may_not_serve(tmp_path: pathlib.Path, text: str) -> None:
    assert told(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        LAUNCH.format("trainer-0:29400") + ASKED + SILENT,
        LAUNCH.format("trainer-0.trainer:29400") + "$ hostname\ntrainer-1\n" + SILENT,
        LAUNCH.format("trainer-0.trainer:29400") + ASKED + "step 1\nstep 2\nstep 3\n",
        LAUNCH.format("trainer-0.trainer:29400").replace("c10d", "etcd-v2") + ASKED + SILENT,
    ],
)
def test_the_same_name_or_another_host_is_no_sign(tmp_path: pathlib.Path, text: str) -> None:
    assert not told(tmp_path, text)
