"""The job's own user where Yama restricts ptrace: descriptors and environments are open, system calls and memory are not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from harness import judging, patient, yama
from rankscope.probe.engines import pyspy

pytestmark = pytest.mark.skipif(not yama.works(), reason="this kernel, or its container, has no seccomp listeners")


@pytest.fixture
def running(request: pytest.FixtureRequest) -> Iterator[patient.Patient]:
    patient_ = patient.start(patient.card(request.param).path, patient.card(request.param).launchers[0])
    yield patient_
    assert not patient_.end()


def test_the_stand_in_refuses_what_yama_refuses() -> None:
    """Memory, system calls and kernel stacks of a process that is no descendant; not its descriptors, nor our own."""
    code = (
        "import sys, os\n"
        "for name in ('mem', 'syscall', 'wchan', 'environ', 'maps', 'fd'):\n"
        "    try: os.close(os.open(f'/proc/{sys.argv[1]}/{name}', os.O_RDONLY))\n"
        "    except OSError: print(name, 'refused')\n"
        "open('/proc/self/syscall').read()\n"
    )
    with subprocess.Popen(["sleep", "60"]) as stranger:
        command = [*judging.SCOPE_1, sys.executable, "-c", code, str(stranger.pid)]
        said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        stranger.kill()
    assert said.stdout.splitlines() == ["mem refused", "syscall refused"], said.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("running", "certainty"),
    [
        ("call_without_time_out", "possible"),
        ("two_locks_crosswise", "possible"),
        ("both_send_first", "likely"),
        ("waits_before_reading_output", "likely"),
        ("command_does_not_return", "likely"),
    ],
    indirect=["running"],
)
def test_what_proc_alone_shows_leads_to_the_rank(running: patient.Patient, certainty: str) -> None:
    """The verdict is right, no surer than it may be, and says what is missing and what would show it."""
    look = judging.diagnose(running, before=judging.SCOPE_1)
    assert judging.mistakes(look, running.truth) == [], look.diagnosis
    assert look.diagnosis is not None
    assert look.diagnosis["verdict"]["certainty"] == certainty
    denied = {gap["what"] for gap in look.diagnosis["gaps"] if gap["reason"] == "denied"}
    assert "python-stacks" in denied
    assert not denied & {"environ", "files"}
    assert any("ptrace_scope" in gap["hint"] for gap in look.diagnosis["gaps"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "running", ["healthy_stdlib", "healthy_child_computes", "healthy_pool_of_threads"], indirect=True
)
def test_a_healthy_job_is_clean_from_outside(running: patient.Patient) -> None:
    """It moves, and that is enough. On a busy machine one short look may miss that; nobody is accused in any."""
    truth = {**running.truth, "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
    looks = []
    while len(looks) < 5 and not (looks and judging.mistakes(looks[-1], truth) == []):
        looks.append(judging.diagnose(running, before=judging.SCOPE_1))
        assert looks[-1].diagnosis is not None
        verdict = looks[-1].diagnosis["verdict"]
        assert verdict is None or verdict["class"] in truth["accept"]
    assert judging.mistakes(looks[-1], truth) == [], looks[-1].diagnosis


@pytest.mark.skipif(not pyspy.executable(), reason="needs py-spy")
def test_other_tools_are_refused_as_well() -> None:
    """As the report says."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        command = [*judging.SCOPE_1, pyspy.executable(), "dump", "--nonblocking", "--pid", str(stranger.pid)]
        assert subprocess.run(command, capture_output=True, timeout=60, check=False).returncode
        stranger.kill()
