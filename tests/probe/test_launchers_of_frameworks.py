"""Accelerate, deepspeed, Lightning and Ray are known by what they leave in the process table."""

from __future__ import annotations

import base64
import json
import os
import pathlib
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_discovery import PYTHON, rank, roles, seen, table

from rankscope.model.process import Role
from rankscope.probe.discover import job_of, jobs
from rankscope.probe.table import Seen, read_table


def child(local: int, node: int = 0, world: int = 4) -> dict[str, str]:
    return {"LOCAL_RANK": str(local), "NODE_RANK": str(node), "WORLD_SIZE": str(world)}


def test_accelerate_is_torchruns_agent_under_another_command() -> None:
    """Its agent bears torch's name and its ranks torch's variables; the user is told what was typed."""
    agent = seen(100, 1, PYTHON, "/usr/bin/accelerate", "launch", "train.py", comm="pt_elastic")
    ranks = [seen(101 + n, 100, PYTHON, "train.py", environ=rank(n, 2)) for n in range(2)]
    (found,) = jobs(table(agent, *ranks))
    assert (found.job.launcher, found.job.world_size) == ("accelerate", 2)


@pytest.mark.parametrize("count", ["²", "9" * 5000, "-1", "auto", ""])
def test_an_agent_with_a_number_that_is_none_hides_no_job(count: str) -> None:
    """Anybody on the host may start a program with such words; all jobs are found all the same."""
    agent = seen(100, 1, PYTHON, "-m", "torch.distributed.run", "--nproc-per-node", count, "train.py")
    ranks = [seen(101 + n, 100, PYTHON, "train.py", environ=rank(n, 2)) for n in range(2)]
    stranger = seen(200, 1, PYTHON, "-m", "torch.distributed.run", f"--nproc-per-node={count}", "other.py")
    found = jobs(table(agent, *ranks, stranger))
    assert [len(one.processes) for one in found if one.job.name == "train.py"] == [3]


def test_deepspeed_promises_its_ranks_on_its_command_line() -> None:
    """Rank 3 has no process; the table of hosts says that there should be one."""
    info = base64.urlsafe_b64encode(json.dumps({"node0": [0, 1], "node1": [0, 1]}).encode()).decode()
    agent = seen(
        100, 1, PYTHON, "-u", "-m", "deepspeed.launcher.launch", f"--world_info={info}", "--node_rank=1", "train.py"
    )
    about = {"RANK": "2", "LOCAL_RANK": "0", "WORLD_SIZE": "4"}
    (found,) = jobs(table(agent, seen(101, 100, PYTHON, "-u", "train.py", environ=about)))
    assert (found.job.launcher, found.job.world_size, found.job.expected) == ("deepspeed", 4, "2-3")
    assert roles(found) == {100: (Role.LAUNCHER, None), 101: (Role.RANK, 2)}


@given(st.text(max_size=60))
def test_any_table_of_hosts_is_read_or_passed_over(info: str) -> None:
    agent = seen(100, 1, PYTHON, "-m", "deepspeed.launcher.launch", f"--world_info={info}", "train.py")
    assert len(jobs(table(agent))) == 1


@pytest.mark.parametrize("node", ["-5", "²", "9" * 5000, "2", ""])
def test_a_node_that_no_table_of_hosts_has_promises_nothing_here(node: str) -> None:
    info = base64.urlsafe_b64encode(json.dumps({"node0": [0, 1], "node1": [0, 1]}).encode()).decode()
    agent = seen(
        100, 1, PYTHON, "-m", "deepspeed.launcher.launch", f"--world_info={info}", f"--node_rank={node}", "train.py"
    )
    (found,) = jobs(table(agent))
    assert (found.job.launcher, found.job.world_size) == ("deepspeed", 4)


def test_lightnings_parent_is_its_local_rank_0() -> None:
    """It has no variable of its own; loader workers inherit a number and are no ranks."""
    parent = seen(100, 1, PYTHON, "train.py", "--devices", "4")
    children = [seen(100 + n, 100, PYTHON, "/w/train.py", "--devices", "4", environ=child(n)) for n in (1, 2, 3)]
    workers = [
        seen(200, 102, PYTHON, "train.py", environ=child(2), comm="pt_data_worker"),
        seen(201, 100, PYTHON, "train.py", comm="pt_data_worker"),
    ]
    (found,) = jobs(table(parent, *children, *workers))
    assert (found.job.launcher, found.job.world_size, found.job.expected) == ("lightning", 4, "0-3")
    told = roles(found)
    assert {pid: number for pid, (role, number) in told.items() if role is Role.RANK} == {100 + n: n for n in range(4)}
    assert told[200] == (Role.DATALOADER_WORKER, 2)
    assert told[201] == (Role.DATALOADER_WORKER, 0)


def test_lightnings_second_node_counts_on() -> None:
    children = [seen(101, 100, PYTHON, "train.py", environ=child(1, node=1))]
    (found,) = jobs(table(seen(100, 1, PYTHON, "train.py"), *children))
    assert sorted(number for role, number in roles(found).values() if number is not None) == [2, 3]


def ray(driver: int, *titles: str, job: dict[str, str] | None = None) -> list[Seen]:
    """A raylet, pid 50, and workers from 60 on."""
    raylet = seen(50, driver, "/x/raylet", executable="/x/raylet", comm="raylet")
    environ = {"RAY_JOB_ID": "1"} if job is None else job
    return [raylet, *(seen(60 + n, 50, title, environ=environ, comm=title[:15]) for n, title in enumerate(titles))]


TRAINERS = ("ray::RayTrainWorker.execute",) * 3


def test_rays_trainers_are_one_job_without_its_services() -> None:
    """Idle workers, the controller, and agents, which serve no job, are left out."""
    idle = seen(70, 50, "ray::IDLE", comm="ray::IDLE", environ={"RAY_JOB_ID": "1"})
    agent = seen(71, 50, "ray::DashboardAgent", comm="ray::DashboardA", environ={})
    found = jobs(table(*ray(1, *TRAINERS, "ray::TrainController.run"), idle, agent))
    assert [set(roles(one)) for one in found if one.job.launcher == "ray"] == [{60, 61, 62}]


def test_a_worker_started_in_advance_joins_the_job_whose_class_it_runs() -> None:
    """It was started before there was a job, and its environment says so for ever."""
    early = seen(80, 50, "ray::Learner.fit", comm="ray::Learner.fi", environ={"RAY_JOB_ID": "ffffffff"})
    other = [seen(90 + n, 50, "ray::Other.run", comm="ray::Other.run", environ={"RAY_JOB_ID": "2"}) for n in range(2)]
    found = jobs(table(*ray(1, "ray::Learner.fit", "ray::Learner.fit"), early, *other))
    assert sorted(sorted(roles(one)) for one in found if one.job.launcher == "ray") == [[60, 61, 80], [90, 91]]


def test_the_program_that_started_ray_leads_to_its_trainers() -> None:
    """Its other children are services, not a job of their own."""
    driver = seen(40, 1, PYTHON, "train.py")
    service = seen(41, 40, PYTHON, "dashboard.py")
    everybody = table(driver, service, *ray(40, *TRAINERS))
    (found,) = jobs(everybody)
    assert (found.job.launcher, roles(found)[40][0]) == ("ray", Role.LAUNCHER)
    assert set(roles(found)) == {40, 60, 61, 62}
    assert job_of(everybody, 40) == found


@pytest.mark.parametrize("missing", [0, 1])
def test_a_real_tree_of_lightnings_shape_is_found(tmp_path: pathlib.Path, missing: int) -> None:
    """The parent starts its own script again, with variables of Lightning's, and is a rank itself."""
    script = tmp_path / "train.py"
    script.write_text(
        "import os, subprocess, sys\n"
        "if 'LOCAL_RANK' in os.environ:\n"
        "    print('here', flush=True); sys.stdin.read()\n"
        "else:\n"
        "    ranks = [subprocess.Popen([sys.executable, *sys.argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE,\n"
        "        env={**os.environ, 'LOCAL_RANK': str(n), 'NODE_RANK': '0', 'WORLD_SIZE': '3'}) for n in (1, 2)]\n"
        "    [rank.stdout.readline() for rank in ranks]\n"
        f"    [rank.kill() or rank.wait() for rank in ranks[:{missing}]]\n"
        "    print('ready', flush=True); sys.stdin.read(); [rank.kill() for rank in ranks]\n"
    )
    env = {name: value for name, value in os.environ.items() if not name.endswith("RANK")}
    parent = subprocess.Popen([sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    try:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        found = job_of(read_table("here"), parent.pid)
    finally:
        parent.communicate(timeout=20)
    assert found is not None
    assert (found.job.launcher, found.job.expected) == ("lightning", "0-2")
    numbers = sorted(one.rank for one in found.processes if one.role is Role.RANK and one.rank is not None)
    assert numbers == ([0, 2] if missing else [0, 1, 2])
