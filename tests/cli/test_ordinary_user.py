"""An ordinary user without the right to look into the job's processes still gets what /proc shows to everybody."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

from harness import judging, patient

# The one capability kept lets the interpreter find its own files; it gives no right to look into processes.
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all,+dac_read_search",
          "--bounding-set=-all,+dac_read_search", "--ambient-caps=+dac_read_search")  # fmt: skip

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv")


@pytest.fixture
def sick(request: pytest.FixtureRequest) -> Iterator[patient.Patient]:
    card = patient.card(request.param)
    if "mkfs.ext4" in card.needs and not all(shutil.which(tool) for tool in ("mkfs.ext4", "fsfreeze")):
        pytest.skip("no tools to make and freeze a file system")
    running = patient.start(card.path)
    yield running
    assert not running.end()


@pytest.mark.parametrize(
    ("sick", "cls"),
    [
        ("rank_stopped", "process-stopped"),
        ("flock_of_other_program", "rank-stuck-in-user-code"),
        ("writes_to_frozen_disk", "filesystem-stall"),
    ],
    indirect=["sick"],
)
def test_states_and_locks_are_named_and_what_is_missing_is_said(sick: patient.Patient, cls: str) -> None:
    """The verdict is the same; ranks have no numbers, since the environment is not to be seen."""
    look = judging.diagnose(sick, before=NOBODY)
    assert look.diagnosis is not None, look.errors
    assert look.code == 1, look.diagnosis
    assert look.diagnosis["verdict"]["class"] == cls
    denied = {gap["what"] for gap in look.diagnosis["gaps"] if gap["reason"] == "denied"}
    assert denied >= {"python-stacks", "environ", "files"}
