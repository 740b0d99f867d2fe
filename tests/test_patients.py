"""Real sick programs, each of which states the truth about itself: the diagnosis must agree with it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys

import pytest

from harness import judging
from harness import patient as patients
from memory.standing import label, pythons

NAMED = (
    ("user_code_sleeps", "torchrun"),
    ("user_code_spins", "forked"),
    ("branch_skips_all_reduce", "torchrun"),
    ("same_line_next_iteration", "spawn"),
    ("rank_killed", "forked"),
    ("rank_stopped", "spawn"),
    ("loader_worker_stands", "torchrun"),
    ("loader_forked_with_held_lock", "torchrun"),
    ("extension_lock_left", "torchrun"),
    ("groups_in_opposite_order", "spawn"),
    ("healthy_fast", "torchrun"),
)

# Skipped where the package, or mpirun, is not installed; their shapes in the process table are tested everywhere.
FRAMEWORKS = (
    ("branch_skips_all_reduce", "accelerate", "accelerate"),
    ("branch_skips_all_reduce", "deepspeed", "deepspeed"),
    ("branch_skips_all_reduce", "mpirun", "mpi"),
    ("computes_away_from_mpi", "mpirun", "mpi"),
    ("trains_under_lightning", "lightning", "lightning"),
    ("trains_under_ray", "ray", "ray"),
)

# Without torch; each also on another Python than ours, in turn.
NAMED_STDLIB = (
    ("two_locks_crosswise", "shell"),
    ("lock_retaken_in_finalizer", "alone"),
    ("import_waits_for_thread", "shell"),
    ("native_call_keeps_gil", "shell"),
    ("native_mutexes_crosswise", "shell"),
    ("forked_with_held_lock", "shell"),
    ("joins_child_in_deadlock", "spawned"),
    ("joins_before_draining_queue", "shell"),
    ("child_stopped", "alone"),
    ("pool_runs_program_again", "alone"),
    ("lock_file_of_other_rank", "shell"),
    ("both_send_first", "forked"),
    ("healthy_odd_household", "forked"),
    ("task_locks_beside_heartbeat", "shell"),
    ("shared_locks_crosswise", "alone"),
    ("shared_lock_taken_again_in_a_pool", "alone"),
    ("barrier_of_a_pool_for_more", "alone"),
    ("managers_ask_each_other_under_locks", "alone"),
)


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize(("name", "launcher"), [pytest.param(*row, id="-".join(row)) for row in NAMED])
def test_the_verdict_on_a_patient_is_the_truth(admit, name, launcher):
    """The class and the ranks of the verdict are those the patient states; a healthy one is not accused."""
    _examine(admit(name, launcher=launcher))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "launcher"), [pytest.param(*row, id="-".join(row)) for row in NAMED_STDLIB])
def test_the_verdict_needs_no_torch(admit, name, launcher):
    """Jobs of the standard library are diagnosed as well."""
    _examine(admit(name, launcher=launcher))


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "launcher", "called"), [pytest.param(*row, id="-".join(row[:2])) for row in FRAMEWORKS]
)
def test_jobs_of_other_launchers_are_found_whole_and_named(admit, name, launcher, called):
    """All ranks bear their numbers, the launcher its name, and the verdict is the truth."""
    patient = admit(name, launcher=launcher)
    look = judging.diagnose(patient)
    assert judging.mistakes(look, patient.truth) == [], look.diagnosis
    job = look.diagnosis["job"]
    assert job["launcher"] == called
    assert job["ranks"] == list(range(job["world_size"]))
    assert job["world_size"] in (3, 4)


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(NAMED_STDLIB)))
def test_the_verdict_does_not_depend_on_the_python_of_the_job(admit, place):
    """The job may run on another Python than rankscope: the patients go round all that are on this machine."""
    others = [path for path in pythons() if not label(path).startswith("3.8") and path != sys.executable]
    if not others:
        pytest.skip("there is no other Python on this machine; name some in RANKSCOPE_PYTHONS")
    name, launcher = NAMED_STDLIB[place]
    _examine(admit(name, launcher=launcher, python=others[place % len(others)]))


@pytest.mark.slow
@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root, to give up the right to ptrace"
)
def test_what_the_kernel_shows_is_said_without_the_right_to_ptrace(admit):
    """Without that right a stopped process is still named, and what could not be seen is listed."""
    patient = admit("child_stopped", launcher="shell")
    look = judging.diagnose(patient, before=judging.WITHOUT_PTRACE)
    assert judging.mistakes(look, patient.truth) == [], look.diagnosis
    assert {gap["reason"] for gap in look.diagnosis["gaps"] if gap["what"] == "python-stacks"} == {"denied"}


@pytest.mark.slow
@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root, to give up the right to ptrace"
)
def test_nobody_is_accused_without_evidence(admit):
    """Where only the stacks could tell and they are denied, the answer is "not enough evidence": exit code 3."""
    look = judging.diagnose(admit("two_locks_crosswise", launcher="shell"), before=judging.WITHOUT_PTRACE)
    assert (look.code, look.diagnosis["verdict"]) == (3, None), look.diagnosis


@pytest.mark.slow
def test_a_rank_of_which_every_read_stands_still_is_found_and_not_told_as_dead(admit):
    """It holds the lock of its own memory: no command line, no environment, no stack; its number is what is left."""
    patient = admit("holds_its_own_memory")
    look = judging.diagnose(patient)
    assert judging.mistakes(look, patient.truth) == [], look.diagnosis
    assert look.diagnosis["job"]["ranks"] == [0, 1, 2]
    assert "dead-rank" not in {finding["class"] for finding in look.diagnosis["findings"]}
    assert ("environ", "blocked") in {(gap["what"], gap["reason"]) for gap in look.diagnosis["gaps"]}


def _examine(patient):
    look = judging.diagnose(patient)
    assert judging.mistakes(look, patient.truth) == [], look.diagnosis


def test_every_patient_has_a_card():
    """A patient says in its file what it is, how it is started and what it needs, and starts under a neutral name."""
    assert patients.cards()
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
