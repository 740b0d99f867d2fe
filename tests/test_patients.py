"""Real sick programs, each of which states the truth about itself: the diagnosis must agree with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from harness import judging
from harness import patient as patients

NAMED = (
    ("user_code_sleeps", "torchrun"),
    ("user_code_spins", "forked"),
    ("branch_skips_all_reduce", "torchrun"),
    ("same_line_next_iteration", "spawn"),
    ("rank_killed", "forked"),
    ("rank_stopped", "spawn"),
    ("loader_worker_stands", "torchrun"),
    ("extension_lock_left", "torchrun"),
    ("healthy_fast", "torchrun"),
    ("healthy_slow", "torchrun"),
)


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize(("name", "launcher"), [pytest.param(*row, id="-".join(row)) for row in NAMED])
def test_the_verdict_on_a_patient_is_the_truth(admit, name, launcher):
    """The class and the ranks of the verdict are those the patient states; a healthy one is not accused."""
    pytest.importorskip("rankscope.cli.main")
    patient = admit(name, launcher=launcher)
    look = judging.diagnose(patient)
    assert judging.mistakes(look, patient.truth) == [], look.diagnosis


def test_every_patient_has_a_card():
    """A patient says in its file what it is, how it is started and what it needs, and starts under a neutral name."""
    for card in patients.cards():
        assert card.about.endswith("."), card.name
        assert card.launchers, card.name


def test_a_patient_is_ended_with_everything_it_started(admit):
    """Nothing that a patient started outlives it, also when its own parent was killed first."""
    patient = admit("healthy_stdlib")
    known = patients.reaping.marked(patient.mark)
    patient.process.kill()
    patient.process.wait()
    assert patient.end() == set()
    assert len(known) > 1
    assert not patients.reaping.marked(patient.mark)


def test_a_patient_that_fails_to_fall_sick_says_why(tmp_path):
    """The end of the patient's own output is in the message."""
    broken = tmp_path / "broken.py"
    broken.write_text("raise SystemExit('no such device')")
    with pytest.raises(patients.NotReady, match="no such device"):
        patients.start(broken, within=10)


def test_a_patient_can_be_run_by_hand(tmp_path):
    """Without a pipe of the harness the one JSON line goes to standard output."""
    command = [sys.executable, str(patients.card("healthy_stdlib").path)]
    env = {**os.environ, "PATIENT_HOME": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env, start_new_session=True) as process:
        assert process.stdout.readline().startswith(b'{"ready": true')
        os.killpg(process.pid, signal.SIGKILL)
