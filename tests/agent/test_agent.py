"""The agent as it travels: one file, run by the oldest Python it serves, beside a process it has never seen."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator

import pytest

from rankscope.model.evidence.source import SourceLines
from rankscope.model.evidence.stacks import PythonStacks
from rankscope.model.evidence.threads import Threads
from rankscope.model.process import Process
from rankscope.model.snapshot import Snapshot
from rankscope.probe import slurm_job
from rankscope.probe.errand import Errand
from rankscope.probe.table import Seen, Table
from rankscope.reach import gather, ship
from rankscope.reach.answers import Inbox

SLEEPER = """
import sys, time
def rest_for_ever():
    print("ready", flush=True)
    while True:
        time.sleep(3600)
rest_for_ever()
"""


def whole(errand: dict[str, object], alarm_s: int, bytecode: bool = False, tool: bytes = b"") -> bytes:
    """Everything that the loader needs, as it is written to its standard input."""
    return ship.Parcel(errand, alarm_s, tool, bytecode=bytecode).whole()


def pythons(version: str) -> Iterator[str]:
    """Interpreters of one version: on the path, or among those that pyenv installed."""
    found = shutil.which(f"python{version}")
    # A shim of pyenv exists even where the version is not chosen.
    yield from [found] if found and "/shims/" not in found else []
    for path in sorted(pathlib.Path("~/.pyenv/versions").expanduser().glob(f"{version}*/bin/python{version}")):
        yield str(path)


@pytest.fixture(params=["3.9", "3.10", "3.11", "3.12", "3.13"])
def python(request: pytest.FixtureRequest) -> str:
    found = next(pythons(request.param), None)
    if found is None:
        pytest.skip(f"no Python {request.param} here")
    return found


@pytest.fixture(scope="module")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("agent") / "rankscope-agent.pyz"
    path.write_bytes(ship.pyz())
    return path


@pytest.fixture(scope="module")
def rank() -> Iterator[subprocess.Popen[bytes]]:
    """A process that looks like a rank and stands still."""
    env = {**os.environ, "RANK": "3", "WORLD_SIZE": "7", "LOCAL_RANK": "1", "MASTER_ADDR": "node1", "MASTER_PORT": "29500",
           "API_TOKEN": "do-not-tell"}  # fmt: skip
    process = subprocess.Popen([sys.executable, "-c", SLEEPER], env=env, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def read(raw: bytes) -> Inbox:
    inbox = Inbox("here")
    for line in raw.split(b"\n"):
        inbox.feed(line)
    return inbox


def find(snapshot: Snapshot, pid: int) -> Process:
    """The process among those of its job: the test runner that started it counts as its launcher."""
    return next(process for process in snapshot.processes if process.ref.pid == pid)


def test_one_file_tells_the_rank_and_its_stack_on_every_python(
    python: str, pyz: pathlib.Path, rank: subprocess.Popen[bytes]
) -> None:
    errand = json.dumps({"pid": rank.pid, "interval_s": 0.05})
    done = subprocess.run([python, "-I", str(pyz), errand], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    inbox = read(done.stdout)
    (part,) = inbox.parts()
    process = find(part.snapshot, rank.pid)
    assert inbox.ended
    assert (process.ref.pid, process.rank, process.world_size) == (rank.pid, 3, 7)
    assert part.job.meeting == ("master:node1:29500",)
    kinds = {type(item.record) for sweep in part.snapshot.sweeps for item in sweep.items}
    assert {PythonStacks, Threads} <= kinds
    stacks = next(
        item.record
        for item in part.snapshot.sweeps[0].items
        if item.process == process.ref and isinstance(item.record, PythonStacks)
    )
    assert "rest_for_ever" in [frame.function for frame in stacks.threads[0].stack]


def test_the_agent_leaves_nothing_on_the_disk_and_tells_no_secret(
    pyz: pathlib.Path, rank: subprocess.Popen[bytes], tmp_path: pathlib.Path
) -> None:
    """The loader is given the archive on its standard input, in an empty home that must stay empty."""
    parcel = whole({"pid": rank.pid, "sweeps": 1}, 30)
    env = {
        "PATH": f"{pathlib.Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
    }
    done = subprocess.run(["/bin/sh", "-c", ship.shell_line(sys.executable)], input=parcel, capture_output=True, timeout=60,
                          env=env, cwd=tmp_path)  # fmt: skip
    (part,) = read(done.stdout).parts()
    assert find(part.snapshot, rank.pid).rank == 3
    assert list(tmp_path.iterdir()) == []
    assert "do-not-tell" not in str(part.snapshot)


def test_what_the_agent_looks_up_is_not_kept_in_the_users_home(tmp_path: pathlib.Path) -> None:
    """On a workstation symbols are remembered between looks; an agent is a guest."""
    code = (
        "from rankscope.probe import agent; from rankscope.memory.buildid import SymbolCache\n"
        "if {}: agent.bound(20)\n"
        "cache = SymbolCache(); cache._known = {{'abcd': {{'name': 1}}}}; cache._store()"
    )
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    subprocess.run([sys.executable, "-c", code.format(True)], env=env, check=True, timeout=30)
    assert list(tmp_path.iterdir()) == []
    subprocess.run([sys.executable, "-c", code.format(False)], env=env, check=True, timeout=30)
    assert list(tmp_path.iterdir()) != []


def test_a_host_without_a_job_still_answers(pyz: pathlib.Path) -> None:
    done = subprocess.run([sys.executable, str(pyz), '{"slurm_job": "987654321"}'], capture_output=True, timeout=60)
    inbox = read(done.stdout)
    assert inbox.ended
    assert [part.snapshot.processes for part in inbox.parts()] == [()]


def test_the_alarm_ends_an_agent_that_nobody_waits_for(pyz: pathlib.Path, rank: subprocess.Popen[bytes]) -> None:
    errand = json.dumps({"pid": rank.pid, "sweeps": 2, "interval_s": 300, "deadline_s": 600, "alarm_s": 1})
    done = subprocess.run([sys.executable, str(pyz), errand], capture_output=True, timeout=30)
    assert done.returncode in (-9, 124)
    assert not read(done.stdout).ended


def test_an_agent_whose_reader_is_gone_ends(pyz: pathlib.Path, rank: subprocess.Popen[bytes]) -> None:
    errand = json.dumps({"pid": rank.pid, "sweeps": 20, "interval_s": 0.2, "alarm_s": 60})
    process = subprocess.Popen([sys.executable, str(pyz), errand], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    _, errors = process.communicate(timeout=20)
    assert b"Traceback" not in errors


@pytest.mark.parametrize("text", ["", "[]", "{", '{"sweeps": {}}', '{"only": 3}'])
def test_what_is_no_errand_is_refused_in_one_line(pyz: pathlib.Path, text: str) -> None:
    done = subprocess.run([sys.executable, str(pyz), text], input=b"", capture_output=True, timeout=30)
    assert done.returncode != 0
    assert b"Traceback" not in done.stderr


def test_hosts_with_one_time_start_together_and_a_wrong_clock_starts_at_once() -> None:
    errand = Errand(sent_s=1000.0, start_s=1001.0)
    assert errand.plan(1000.3).start_s == 1001.0
    assert errand.plan(9000.0).start_s == 0.0
    assert time.time() > 9000.0


def test_processes_of_a_slurm_job_are_told_by_control_group_else_by_environment(tmp_path: pathlib.Path) -> None:
    """A container may hide the variables, a script may export those of another job; nobody changes the control group."""

    def in_job(numbers: str, environ: dict[str, str]) -> bool:
        seen = Seen(10, 1, 1, 1, 1, "python", "S", 0, environ=environ)
        return slurm_job.is_of(Table("here", {10: seen}), numbers, 10, str(tmp_path))

    assert in_job("7,8", {"SLURM_JOB_ID": "8"})
    assert not in_job("71", {})
    (tmp_path / "10").mkdir()
    (tmp_path / "10" / "cgroup").write_text("0::/system.slice/slurmstepd.scope/job_71/step_0/user/task_0\n")
    assert in_job("71", {})
    assert in_job("71", {"SLURM_JOB_ID": "8"})
    assert not in_job("7,8", {"SLURM_JOB_ID": "8"})
    (tmp_path / "10" / "cgroup").write_text("0::/user.slice/user-0.slice/session-3.scope\n")
    assert in_job("8", {"SLURM_JOB_ID": "8"})


def sent(parcel: bytes, python: str = sys.executable, **environ: str) -> Snapshot:
    """What comes back when a parcel is sent the way it travels to a node."""
    line = ["/bin/sh", "-c", ship.shell_line(python)]
    env = {"PATH": "/usr/bin:/bin", **environ}
    done = subprocess.run(line, input=parcel, capture_output=True, timeout=60, env=env)
    (part,) = read(done.stdout).parts()
    assert part.ended, done.stderr
    return part.snapshot


def test_bytecode_that_travels_along_serves_its_own_python_and_hurts_no_other(
    python: str, rank: subprocess.Popen[bytes]
) -> None:
    plain = sent(whole({"pid": rank.pid, "sweeps": 1}, 30), python)
    quick = sent(whole({"pid": rank.pid, "sweeps": 1}, 30, bytecode=True), python)
    assert find(quick, rank.pid) == find(plain, rank.pid)


def test_a_node_with_our_python_takes_the_bytecode_and_not_the_sources(rank: subprocess.Popen[bytes]) -> None:
    """A parcel without sources; what still answers did not need them."""
    parcel = ship.Parcel({"pid": rank.pid, "sweeps": 1}, 30)
    source = zlib.compress(json.dumps([]).encode() + b"\n")
    without = parcel.whole().replace(parcel.piece("source"), b"%d\n" % len(source) + source)
    assert find(sent(without), rank.pid).rank == 3


def test_a_py_spy_that_travels_along_is_used_from_memory_and_leaves_nothing(
    rank: subprocess.Popen[bytes], tmp_path: pathlib.Path
) -> None:
    """The node has no py-spy on its path; the errand asks for that engine."""
    tool = gather.py_spy()
    if not tool:
        pytest.skip("py-spy is not installed here")
    errand = {"pid": rank.pid, "sweeps": 1, "engine": "py-spy"}
    python = next(path for path in ("/usr/bin/python3", sys.executable) if os.path.exists(path))
    seen = sent(whole(errand, 30, tool=tool), python, TMPDIR=str(tmp_path), HOME=str(tmp_path))
    engines = {item.record.engine for item in seen.sweeps[0].items if isinstance(item.record, PythonStacks)}
    assert engines == {"py-spy"}
    assert list(tmp_path.iterdir()) == []


def test_source_lines_are_read_beside_the_process(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(SLEEPER)
    env = {**os.environ, "RANK": "0", "WORLD_SIZE": "1"}
    with subprocess.Popen([sys.executable, str(program)], env=env, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            first = sent(whole({"pid": process.pid, "sweeps": 1}, 30))
            key = find(first, process.pid).ref.key
            errand = {"pid": process.pid, "refs": [key], "source": [[key, str(program), 3]], "around": 0}
            seen = sent(whole(errand, 30))
        finally:
            process.kill()
    (record,) = [item.record for sweep in seen.sweeps for item in sweep.items]
    assert isinstance(record, SourceLines)
    assert record.excerpts[0].lines == ((3, "def rest_for_ever():"),)
    assert [one.ref.key for one in seen.processes] == [key]


@pytest.mark.parametrize("listed", [True, False])
def test_a_rank_whose_environment_was_wiped_is_found_as_the_nodes_own_slurmd_lists_it(
    rank: subprocess.Popen[bytes], tmp_path: pathlib.Path, listed: bool
) -> None:
    """It has neither SLURM_JOB_ID nor a control group of the job."""
    tool = tmp_path / "scontrol"
    line = f"{rank.pid} 987 0 1 3" if listed else "-1 987 0 - -"
    tool.write_text(
        f"#!/bin/sh\n[ $1 = listpids ] && [ $2 = 987 ] && echo 'PID JOBID STEPID LOCALID GLOBALID' && echo '{line}'\n"
    )
    tool.chmod(0o755)
    seen = sent(whole({"slurm_job": "987", "sweeps": 1}, 30), PATH=f"{tmp_path}:/usr/bin:/bin")
    assert (rank.pid in {process.ref.pid for process in seen.processes}) is listed


def test_a_program_of_a_slurm_job_that_is_no_distributed_job_is_looked_at_alone() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SLEEPER], env={"SLURM_JOB_ID": "987"}, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            seen = sent(whole({"slurm_job": "987", "sweeps": 1}, 30))
        finally:
            process.kill()
    assert [one.ref.pid for one in seen.processes] == [process.pid]
