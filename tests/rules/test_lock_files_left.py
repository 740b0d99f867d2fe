"""A lock file that seems to be left behind: whose file system it is says how far one may trust that nobody has it open."""

from __future__ import annotations

import pytest
import test_live_rules as live

from rankscope.model.diagnosis import Certainty, Finding
from rankscope.model.evidence.lock_files import LockFile, LockFiles
from rankscope.model.evidence.stacks import Frame, Stack
from rankscope.pipeline import judge

LOCK = "/home/u/.cache/torch_extensions/ops/lock"
WAITS = Stack([live.MAIN, Frame("wait", f"{live.LIB}/site-packages/torch/utils/file_baton.py", 50)])


def told(served: bool | None, waiting: int = 1, world: int = 3, holders: tuple[int, ...] = ()) -> list[Finding]:
    """What is said of ranks that wait for a lock file; the last of them sees these holders."""
    bodies = [
        live.Body(72 - at, WAITS, rank=2 - at, wchan="hrtimer_nanosleep",
                  more=(LockFiles((LockFile(LOCK, 45.0, holders if at == waiting - 1 else (), served),)),))
        for at in range(waiting)
    ]  # fmt: skip
    found = judge(live.job(*live.ranks(*bodies), world=world)).findings
    return [one for one in found if one.rule == "stale-file-baton"]


@pytest.mark.parametrize(
    ("served", "world", "certainty"),
    [
        pytest.param(False, 3, Certainty.CERTAIN, id="on a disk of this host"),
        pytest.param(False, 16, Certainty.CERTAIN, id="on a disk of this host, of a job with more hosts"),
        pytest.param(True, 3, Certainty.LIKELY, id="shared, and all ranks were seen"),
        pytest.param(True, 16, Certainty.POSSIBLE, id="shared with hosts that were not looked at"),
        pytest.param(None, 16, Certainty.POSSIBLE, id="nobody knows where"),
    ],
)
def test_a_lock_file_that_hosts_share_may_be_in_use_on_another(
    served: bool | None, world: int, certainty: Certainty
) -> None:
    (found,) = told(served, world=world)
    assert found.certainty is certainty
    assert bool(found.against) is (served is not False)
    steps = [str(step).split()[0] for step in found.next]
    assert steps == (["rm"] if served is False else ["on", "rm"])  # advice comes before the command


def test_one_file_is_told_once() -> None:
    (found,) = told(True, waiting=2)
    assert list(found.ranks) == [1, 2]
    assert found.title.startswith("ranks 1-2 wait for a lock file")


def test_a_file_that_somebody_has_open_on_the_host_of_one_is_left_to_nobody() -> None:
    assert told(True, waiting=2, holders=(7,)) == []
