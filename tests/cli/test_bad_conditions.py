"""What goes wrong is said in plain words with what to type next; everything else is still reported."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading

import pytest
from conftest_cli import begin, rankscope, sleeps_between_sweeps

from harness.judging import TOOL
from harness.waiting import wait_until
from rankscope.cli import _snapshots, _target, analyze
from rankscope.errors import RankscopeError

ROOT = os.geteuid() == 0


def test_no_job_says_what_was_looked_for() -> None:
    """An empty host is not an error of the job, but nothing could be done."""
    alone = ("unshare", "--pid", "--fork", "--mount-proc")
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no right to make a pid namespace")
    said = rankscope("diagnose", before=alone)
    assert said.code == 2
    assert "no distributed Python job" in said.err
    assert "looked for torchrun" in said.err
    assert "try" in said.err


# A program of another user that calls itself Python, beside a tool that has no right to look into it.
BESIDE_A_STRANGER = (
    "setpriv --reuid=65534 --clear-groups bash -c 'exec -a python3 sleep 60' & sleep 1; "
    'exec setpriv --bounding-set=-all --inh-caps=-all "$@"'
)


@pytest.mark.skipif(not ROOT, reason="needs a second user")
def test_where_no_job_is_found_what_could_not_be_looked_at_is_told() -> None:
    """Ranks that srun or a script started are known by their environment alone, which another user may not read."""
    alone = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no right to make a pid namespace")
    said = rankscope("diagnose", before=(*alone, "bash", "-c", BESIDE_A_STRANGER, "bash"))
    assert said.code == 2
    assert "1 Python process of other users could not be looked at" in said.err
    assert "sudo -E rankscope diagnose" in said.err


@pytest.mark.parametrize("command", ["diagnose", "stacks"])
def test_a_pid_that_is_not_there_says_so(command: str) -> None:
    said = rankscope(command, "pid:4194399")
    assert (said.code, said.out) == (2, "")
    assert "there is no process" in said.err


@pytest.mark.parametrize(
    "target",
    [
        "kubernetes-please",
        "pid:",
        "pid:x1",
        f"pid:{'7' * 5000}",
        f"mpi:{'7' * 5000}",
        "mpi:²",
        "slurm",
        "/nowhere/job.snap",
    ],
)
def test_a_target_that_is_none_says_what_would_be(target: str) -> None:
    said = rankscope("diagnose", target)
    assert said.code == 2
    assert "rankscope diagnose" in said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    ("target", "because"), [("pid:abc", "a pid is a number"), ("hostfile:", "none stands behind the colon")]
)
def test_a_target_that_is_begun_and_not_named_says_what_is_missing(target: str, because: str) -> None:
    said = rankscope("diagnose", target)
    assert said.code == 2
    assert f"  because  {because}\n" in said.err


def test_evidence_in_which_nothing_is_known_says_so(tmp_path: pathlib.Path) -> None:
    """It is not said to be unseen where all of it was read; and who asks for its stacks is sent to what it holds."""
    (tmp_path / "hello.txt").write_text("hello\n")
    said = rankscope("analyze", str(tmp_path / "hello.txt"))
    assert said.code == 3
    assert "no stack and no message in it tells what a job does" in " ".join(said.out.split())
    assert "(or slurm:JOBID, ssh:HOSTS)" in said.out
    assert f"rankscope analyze {tmp_path}/hello.txt\n" in rankscope("stacks", str(tmp_path / "hello.txt")).err


def test_a_thread_stands_for_its_process() -> None:
    """``top -H`` shows threads by ids that have a folder in /proc as well."""
    gate = threading.Event()
    thread = threading.Thread(target=gate.wait)
    thread.start()
    try:
        assert _target.parse(f"pid:{thread.native_id}").pid == os.getpid() != thread.native_id
    finally:
        gate.set()
        thread.join()


def test_what_lies_below_a_closed_folder_is_denied(tmp_path: pathlib.Path) -> None:
    """For evidence to read and for a file to write alike."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    if ROOT:
        os.seteuid(65534)
    try:
        for ask in (lambda path: analyze._exist((path,)), _snapshots.Files):
            with pytest.raises(RankscopeError) as told:
                ask(closed / "job.snap")
            assert told.value.because.lower() == "permission denied"
    finally:
        if ROOT:
            os.seteuid(0)


@pytest.mark.skipif(not ROOT or not shutil.which("setpriv"), reason="needs root and setpriv")
@pytest.mark.parametrize("command", ["analyze", "stacks", "diagnose"])
def test_a_file_that_may_not_be_read_is_told_with_what_may_help(command: str, tmp_path: pathlib.Path) -> None:
    """By every command in our own words: what, why, and something to type."""
    (tmp_path / "job.log").write_text("x\n")
    (tmp_path / "job.log").chmod(0)
    powerless = ("setpriv", "--inh-caps=-all", "--bounding-set=-all")
    said = rankscope(command, str(tmp_path / "job.log"), before=powerless)
    assert said.code == 2
    assert f"cannot read {tmp_path}/job.log\n  because  permission denied\n  try " in said.err


@pytest.mark.skipif(not ROOT or not shutil.which("setpriv"), reason="needs root and setpriv")
def test_a_file_of_several_that_may_not_be_read_is_named_once(tmp_path: pathlib.Path) -> None:
    for name, mode in (("open.log", 0o644), ("shut.log", 0)):
        (tmp_path / name).write_text("x\n")
        (tmp_path / name).chmod(mode)
    said = rankscope("analyze", str(tmp_path), before=("setpriv", "--inh-caps=-all", "--bounding-set=-all"))
    assert "unseen   shut.log: denied (permission denied)\n" in said.out


def test_a_file_that_is_no_snapshot_is_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "photo.snap").write_bytes(bytes(range(256)) * 2)
    said = rankscope("stacks", str(tmp_path / "photo.snap"))
    assert said.code == 2
    assert "neither text nor a format that is known" in said.err


@pytest.mark.skipif(not ROOT or not shutil.which("setpriv"), reason="needs root and setpriv")
def test_a_job_of_another_user_is_seen_from_outside_only(job: subprocess.Popen[bytes]) -> None:
    """What the kernel shows to everybody is shown; what it refuses is named, with what would help."""
    # The one capability kept lets the interpreter find its own files; it gives no right to look into processes.
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all,+dac_read_search",
              "--bounding-set=-all,+dac_read_search", "--ambient-caps=+dac_read_search")  # fmt: skip
    said = rankscope("diagnose", f"pid:{job.pid}", "--json", before=nobody)
    assert said.code == 3, said.err
    answer = json.loads(said.out)
    assert answer["cost"]["processes"] == 5
    denied = [gap for gap in answer["gaps"] if gap["reason"] == "denied"]
    assert {gap["what"] for gap in denied} >= {"python-stacks", "environ"}
    assert {gap["hint"].split()[0] for gap in denied if gap["what"] == "python-stacks"} == {"sudo"}
    assert answer["verdict"] is None


@pytest.mark.parametrize(("by", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "sigterm"])
def test_an_interruption_reports_what_is_in_hand(by: int, code: int, job: subprocess.Popen[bytes]) -> None:
    """Ctrl-C or SIGTERM between the sweeps gives the diagnosis of the first one and its own exit code."""
    tool = begin("diagnose", f"pid:{job.pid}", "--json", "--interval", "500")
    wait_until(lambda: sleeps_between_sweeps(tool), within=30)
    tool.send_signal(by)
    out, err = tool.communicate(timeout=30)
    assert tool.returncode == code
    assert "interrupted" in err
    answer = json.loads(out)
    assert answer["job"]["ranks"] == [0, 1, 2, 3]
    assert answer["cost"]["processes"] == 5


def test_a_job_that_ends_while_we_look_is_no_crash() -> None:
    """Its processes are gone in the second sweep; that is told, not raised."""
    program = "import os, signal\nfor _ in range(3):\n  if not os.fork(): signal.pause()\nprint('up', flush=True)\nsignal.pause()"
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, start_new_session=True)
    assert child.stdout is not None
    assert child.stdout.readline() == b"up\n"
    tool = begin("diagnose", f"pid:{child.pid}", "--json", "--interval", "4")
    try:
        wait_until(lambda: sleeps_between_sweeps(tool), within=30)
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    out, err = tool.communicate(timeout=60)
    assert tool.returncode in (0, 1, 3), err
    assert json.loads(out)["cost"]["processes"] == 4
    assert "Traceback" not in err


def test_five_hundred_processes_are_all_reported() -> None:
    """A full host is looked at in one go, and nobody is left out."""
    program = (
        "import os, signal, time\n"
        "for number in range(500):\n"
        "    if not os.fork():\n"
        "        signal.pause()\n"
        "print('up', flush=True)\n"
        "signal.pause()\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"up\n"
        said = rankscope("diagnose", f"pid:{child.pid}", "--json", "--interval", "0.1", within=120)
        shown = rankscope("stacks", f"pid:{child.pid}", within=120)
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    answer = json.loads(said.out)
    assert answer["cost"]["processes"] == 501
    assert not [gap for gap in answer["gaps"] if gap["what"] == "python-stacks"]
    assert "500" in shown.out or "501" in shown.out
    assert len(shown.out.splitlines()) < 40


def test_a_closed_pipe_is_no_error(job: subprocess.Popen[bytes]) -> None:
    """``rankscope … | head -1`` ends quietly."""
    tool = begin("stacks", f"pid:{job.pid}", "--raw")
    assert tool.stdout is not None
    tool.stdout.close()
    assert tool.stderr is not None
    err = tool.stderr.read()
    assert tool.wait(timeout=30) == 141  # never 0, which would say that nothing is wrong
    assert err == ""


def test_links_that_lead_in_a_circle_are_called_so(tmp_path: pathlib.Path) -> None:
    """No right would help to read them."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    said = rankscope("analyze", str(tmp_path / "loop"))
    assert (said.code, "lead in a circle" in said.err, "sudo" in said.err) == (2, True, False)


ERROR = 'Traceback (most recent call last):\n  File "train.py", line 3, in main\nValueError: shard 7 is empty\n'


@pytest.mark.parametrize(
    "words", [["analyze", "-"], ["analyze", "--json", "-"], ["analyze", "--events", "-"], ["explain"]]
)
def test_output_that_finds_no_room_is_no_defect(words: list[str]) -> None:
    """Of rankscope; of the disk it may be one."""
    with open("/dev/full", "w") as full:
        done = subprocess.run([*TOOL, *words], input=ERROR, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "rankscope: cannot write the output: no space left on device\n")


def test_a_closed_standard_output_is_no_defect() -> None:
    """The exit code tells what was found all the same."""
    done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *TOOL, "analyze", "-"], input="killed\n", stderr=subprocess.PIPE,
                          text=True, check=False)  # fmt: skip
    assert (done.returncode in (0, 1, 3), done.stderr) == (True, "")


@pytest.mark.parametrize(
    "words", [["analyze", "--stuck-after"], ["diagnose", "--interval"], ["diagnose", "--deadline"]]
)
@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_what_is_no_time_is_refused(words: list[str], value: str) -> None:
    """NaN is in no range, and outside of none."""
    said = rankscope(*words, value, "-" if words[0] == "analyze" else "pid:1")
    assert (said.code, "Invalid value" in said.err) == (2, True)
