"""Jobs, ranks and roles are found from the process table alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pytest

from rankscope.model.gap import Gap, Why
from rankscope.model.process import ProcessRef, Role
from rankscope.probe import procfs
from rankscope.probe.discover import Found, closed, job_of, jobs, with_gaps
from rankscope.probe.table import Seen, Table

PYTHON = "/usr/bin/python3.11"


def seen(
    pid: int, parent: int, *command: str, environ: Mapping[str, str] | None = None, comm: str = "python", group: int = 0,
    executable: str | None = PYTHON, state: str = "S",
) -> Seen:  # fmt: skip
    return Seen(pid, parent, group or pid, 1, pid * 10, comm, state, 1000, command, executable, environ or {})


def table(*processes: Seen) -> Table:
    children: dict[int, list[int]] = {}
    for one in processes:
        children.setdefault(one.parent, []).append(one.pid)
    return Table("node1", {one.pid: one for one in processes}, (), {pid: tuple(c) for pid, c in children.items()})


def rank(number: int, world: int = 4, **more: str) -> dict[str, str]:
    return {"RANK": str(number), "LOCAL_RANK": str(number), "WORLD_SIZE": str(world), "LOCAL_WORLD_SIZE": str(world),
            "TORCHELASTIC_RUN_ID": "none", **more}  # fmt: skip


def roles(found: Found) -> dict[int, tuple[Role, int | None]]:
    return {process.ref.pid: (process.role, process.rank) for process in found.processes}


def torchrun(missing: int | None = None) -> list[Seen]:
    agent = seen(100, 1, PYTHON, "-m", "torch.distributed.run", "--nproc-per-node", "4", "train.py")
    return [agent, *(seen(101 + n, 100, PYTHON, "train.py", environ=rank(n)) for n in range(4) if n != missing)]


def test_torchrun_and_its_ranks_are_one_job() -> None:
    """The agent is the launcher; ranks are numbered by their environment."""
    (found,) = jobs(table(seen(1, 0, "init", executable="/sbin/init"), *torchrun()))
    assert (found.job.launcher, found.job.world_size, found.job.name) == ("torchrun", 4, "train.py")
    assert roles(found) == {100: (Role.LAUNCHER, None), **{101 + n: (Role.RANK, n) for n in range(4)}}


def test_a_rank_without_a_process_is_still_expected() -> None:
    """A launcher that promised four ranks is held to it."""
    (found,) = jobs(table(*torchrun(missing=3)))
    assert found.job.expected == "0-3"
    assert sum(role is Role.RANK for role, _ in roles(found).values()) == 3


def test_loader_workers_serve_the_rank_whose_environment_they_inherit() -> None:
    """A worker has its rank's RANK and is no rank itself."""
    worker = seen(200, 103, PYTHON, "train.py", environ=rank(2), comm="pt_data_worker")
    tracker = seen(201, 103, PYTHON, "-c", "from multiprocessing.resource_tracker import main", environ=rank(2))
    of_loky = "from joblib.externals.loky.backend.resource_tracker import main; main(3, False)"
    (found,) = jobs(table(*torchrun(), worker, tracker, seen(202, 103, PYTHON, "-c", of_loky, environ=rank(2))))
    assert roles(found)[200] == (Role.DATALOADER_WORKER, 2)
    assert roles(found)[201] == roles(found)[202] == (Role.HELPER, 2)
    assert {process.owner for process in found.processes if process.ref.pid in (200, 201)} == {103}


def test_ranks_that_outlived_their_agent_are_one_job() -> None:
    """Orphans belong together by their run id; the job has no root then."""
    orphans = [seen(101 + n, 1, PYTHON, "train.py", environ=rank(n, TORCHELASTIC_RUN_ID="run7")) for n in range(4)]
    (found,) = jobs(table(seen(1, 0, "init", executable="/sbin/init"), *orphans))
    assert found.job.root is None
    assert {number for _, number in roles(found).values()} == {0, 1, 2, 3}


def left(first: int, since_s: float, *numbers: int, **more: str) -> list[Seen]:
    """Ranks whose agent was killed, of a run that began so many seconds after boot."""
    there = (seen(first + n, 1, PYTHON, "train.py", environ=rank(n, 2, **more)) for n in numbers)
    return [dataclasses.replace(one, started=round(since_s * procfs.TICKS) + one.pid % 10) for one in there]


def folder(name: str) -> dict[str, str]:
    return {
        "MASTER_PORT": "29500",
        "TORCHELASTIC_ERROR_FILE": f"/tmp/torchelastic_{name}/none_{name}/attempt_0/0/error.json",
    }


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (left(210, 100, 0, MASTER_PORT="29511"), left(220, 101, 1, MASTER_PORT="29512")),
        (left(210, 100, 0, 1, **folder("a")), left(220, 130, 0, 1, **folder("b"))),
        (left(210, 100, 1, **folder("a")), left(220, 130, 0, **folder("b"))),
        (left(210, 100, 0, TORCHELASTIC_RESTART_COUNT="0"), left(220, 101, 1, TORCHELASTIC_RESTART_COUNT="1")),
    ],
)
def test_ranks_that_two_runs_left_behind_are_two_jobs(earlier: list[Seen], later: list[Seen]) -> None:
    """Nobody gave the runs an id: they differ in where they meet, in the folder of their agent, or in the attempt."""
    found = jobs(table(seen(1, 0, "init", executable="/sbin/init"), *earlier, *later))
    assert [set(roles(one)) for one in found] == [{one.pid for one in part} for part in (earlier, later)]


@pytest.mark.parametrize("apart_s", [0.5, 60])
def test_a_number_that_is_there_twice_is_of_an_earlier_run_unless_both_began_together(apart_s: float) -> None:
    """Started by hand: the run that was left behind met at the same place."""
    given = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}
    ranks = [
        dataclasses.replace(
            seen(201 + i, 90 + i, PYTHON, "train.py", environ={**given, "RANK": str(number)}),
            started=round((100 + i // 2 * apart_s) * procfs.TICKS) + i,
        )
        for i, number in enumerate((0, 1, 0, 1))
    ]
    shells = [seen(90 + i, 1, "bash", executable="/bin/bash") for i in range(4)]
    found = jobs(table(*shells, *ranks))
    assert [len(one.processes) for one in found] == ([4] if apart_s < 1 else [2, 2])


@pytest.mark.parametrize(("parent", "restarts", "is_rank"), [(1, "0", False), (100, "0", False), (100, "1", True)])
def test_a_service_that_a_rank_left_behind_is_no_rank(parent: int, restarts: str, is_rank: bool) -> None:
    """It has the rank's number, and no parent but the first process. A launcher that starts its ranks anew counts that."""
    service = seen(300, parent, PYTHON, "service.py", environ=rank(2, TORCHELASTIC_RESTART_COUNT=restarts))
    agent, *ranks = torchrun()
    ranks = [
        dataclasses.replace(one, environ={**(one.environ or {}), "TORCHELASTIC_RESTART_COUNT": "0"}) for one in ranks
    ]
    found = jobs(table(seen(1, 0, "init", executable="/sbin/init"), agent, *ranks, service))
    assert len(found) == 1
    assert (roles(found[0]).get(300) == (Role.RANK, 2)) is is_rank


def test_a_script_may_start_ranks_by_environment_and_leave_a_service_of_one() -> None:
    script = seen(100, 1, PYTHON, "start.py")
    given = [{"RANK": str(n), "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "7"} for n in range(2)]
    ranks = [seen(101 + n, 100, PYTHON, "train.py", environ=environ) for n, environ in enumerate(given)]
    shell = seen(50, 1, "bash", executable="/bin/bash")
    for parent in (1, 50):
        whole = (shell, dataclasses.replace(script, parent=50), *ranks)
        (found,) = jobs(table(*whole, seen(300, parent, PYTHON, "service.py", environ=given[1])))
        assert roles(found) == {100: (Role.LAUNCHER, None), 101: (Role.RANK, 0), 102: (Role.RANK, 1)}


def test_of_two_programs_that_a_shell_started_with_one_number_either_may_be_the_rank() -> None:
    environ = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "node1", "MASTER_PORT": "7"}
    programs = [seen(101 + n, 1, PYTHON, name, environ=environ) for n, name in enumerate(("board.py", "train.py"))]
    (found,) = jobs(table(seen(1, 0, "bash", executable="/bin/bash"), *programs))
    assert roles(found) == {101: (Role.RANK, 0), 102: (Role.RANK, 0)}


def test_two_runs_side_by_side_are_two_jobs() -> None:
    """Each agent has its own ranks."""
    second = [
        seen(300, 1, PYTHON, "-m", "torch.distributed.run", "other.py"),
        seen(301, 300, PYTHON, "other.py", environ=rank(0, 1)),
    ]
    found = jobs(table(*torchrun(), *second))
    assert sorted(len(one.processes) for one in found) == [2, 5]


def test_a_parent_with_python_children_is_a_job_without_ranks() -> None:
    """multiprocessing puts no rank into the environment; the stacks will tell."""
    parent = seen(50, 1, PYTHON, "spawn.py", group=50)
    children = [seen(51 + n, 50, PYTHON, "-c", "spawn_main()", group=50) for n in range(3)]
    (found,) = jobs(table(parent, *children))
    assert found.job.launcher == "plain"
    assert roles(found)[50] == (Role.LAUNCHER, None)
    assert {role for pid, (role, _) in roles(found).items() if pid != 50} == {Role.OTHER}


def test_processes_that_are_no_python_are_no_job() -> None:
    """A shell with children is left alone."""
    shell = seen(70, 1, "bash", executable="/bin/bash", comm="bash")
    assert jobs(table(shell, seen(71, 70, "sleep", "9", executable="/bin/sleep", comm="sleep"))) == ()


def test_any_member_leads_to_its_job() -> None:
    """A pid of a launcher, a rank or a worker names the same job."""
    worker = seen(200, 103, PYTHON, "train.py", environ=rank(2), comm="pt_data_worker")
    whole = table(*torchrun(), worker)
    members = {pid: job_of(whole, pid) for pid in (100, 102, 200)}
    assert len({found.job.root for found in members.values() if found}) == 1
    assert all(members.values())


def test_a_process_of_no_job_is_looked_at_alone() -> None:
    """Somebody who names a pid wants to see it."""
    found = job_of(table(seen(80, 1, PYTHON, "alone.py")), 80)
    assert found is not None
    assert [process.ref.pid for process in found.processes] == [80]
    assert job_of(table(), 80) is None


def test_a_zombie_is_no_rank() -> None:
    """Its environment is gone, and so is its part in the job."""
    dead = seen(101, 100, environ=rank(0), state="Z")
    (found,) = jobs(table(*[one for one in torchrun() if one.pid != 101], dead))
    assert roles(found)[101][0] is not Role.RANK


def test_a_rank_that_ended_unreaped_belongs_to_the_job_of_its_start_script() -> None:
    """Its environment is gone with it; its parent still has it."""
    script = seen(400, 1, PYTHON, "start.py")
    ranks = [seen(401 + n, 400, PYTHON, "train.py", environ={"RANK": str(n), "WORLD_SIZE": "3"}) for n in (0, 2)]
    failed = dataclasses.replace(seen(402, 400, state="Z", executable=None), exit_status=9)
    finished = dataclasses.replace(failed, pid=403, exit_status=0)
    (found,) = jobs(table(script, *ranks, failed, finished))
    assert found.job.launcher == "environment"
    assert 402 in roles(found)
    assert 403 not in roles(found)


def test_children_of_a_fork_server_are_the_programs_own() -> None:
    """They are copies of the server, command line and all, but they were asked for by its parent."""
    serves = (PYTHON, "-c", "from multiprocessing.forkserver import main; main(3, 5, ['__main__'])")
    tracks = seen(501, 500, PYTHON, "-c", "from multiprocessing.resource_tracker import main;main(4)")
    program, server, child = seen(500, 1, PYTHON, "train.py"), seen(502, 500, *serves), seen(503, 502, *serves)
    (found,) = jobs(table(*(dataclasses.replace(one, group=500) for one in (program, tracks, server, child))))
    assert [roles(found)[pid][0] for pid in (501, 502, 503)] == [Role.HELPER, Role.HELPER, Role.OTHER]
    assert {process.ref.pid: process.parent for process in found.processes}[503] == 500


def started(number: int, address: str, **more: str) -> Seen:
    environ = {"RANK": str(number), "WORLD_SIZE": "3", "MASTER_ADDR": address, "MASTER_PORT": "29500", **more}
    return seen(600 + number, 599, PYTHON, "train.py", environ=environ)


def test_ranks_that_meet_at_an_address_of_this_host_alone_are_all_expected_here() -> None:
    (found,) = jobs(table(started(0, "127.0.0.1"), started(2, "127.0.0.1")))
    assert found.job.expected == "0-2"
    (found,) = jobs(table(started(0, "node1"), started(2, "node1")))
    assert found.job.expected == ""


def test_ranks_of_one_script_that_disagree_about_their_meeting_point_are_one_job() -> None:
    """Two jobs of one script have the same ranks twice."""
    (found,) = jobs(table(started(0, "127.0.0.1"), started(1, "10.0.0.9"), started(2, "10.0.0.9")))
    assert sorted(rank for _, rank in roles(found).values() if rank is not None) == [0, 1, 2]
    twice = [dataclasses.replace(started(number, "10.0.0.9"), pid=700 + number) for number in range(3)]
    assert len(jobs(table(*(started(number, "127.0.0.1") for number in range(3)), *twice))) == 2


def test_a_start_script_whose_programs_are_closed_to_us_is_looked_at_with_all_of_them() -> None:
    """Who may not read their environment still learns what the kernel says of them."""
    shell = seen(800, 1, "bash", "start.sh", executable="/bin/bash", comm="bash")
    closed = [
        dataclasses.replace(seen(801 + n, 800, PYTHON, "train.py"), environ=None, missing=Why.DENIED) for n in (0, 1)
    ]
    found = job_of(table(shell, *closed), 800)
    assert found is not None
    assert {process.ref.pid for process in found.processes} == {800, 801, 802}


def silent(pid: int, parent: int, executable: str = PYTHON, uid: int = 1000) -> Seen:
    """One whose memory is locked: it tells neither its command line nor its environment."""
    one = seen(pid, parent, executable=executable)
    return dataclasses.replace(one, environ=None, uid=uid, unreadable="stood still", missing=Why.BLOCKED)


def blocked(whole: Table, *pids: int) -> Table:
    gaps = tuple(Gap("process", Why.BLOCKED, process=ProcessRef("node1", pid)) for pid in pids)
    return dataclasses.replace(whole, gaps=gaps)


@pytest.mark.parametrize("shell", [PYTHON, "/bin/bash"])
def test_one_that_does_not_answer_beside_the_ranks_belongs_to_them(shell: str) -> None:
    """Whatever started the ranks: nothing but its parent tells what it is."""
    given = [{"RANK": str(n), "WORLD_SIZE": "3", "MASTER_ADDR": "localhost", "MASTER_PORT": "7"} for n in range(2)]
    ranks = [seen(101 + n, 100, PYTHON, "train.py", environ=environ) for n, environ in enumerate(given)]
    others = [silent(104, 100, "/bin/sleep"), silent(105, 100, uid=7), silent(106, 99)]
    whole = table(seen(100, 1, shell, executable=shell), *ranks, silent(103, 100), seen(110, 103, "cat"), *others)
    found = with_gaps(blocked(whole, 103, 104, 105, 106), jobs(blocked(whole, 103, 104, 105, 106)))
    (one,) = found
    assert {pid for pid in roles(one) if pid > 100} == {101, 102, 103, 110}
    assert roles(one)[103] == (Role.OTHER, None)
    told = [(gap.what, gap.why, gap.hint, gap.process.pid) for gap in one.gaps if gap.process]
    assert told == [
        ("environ", Why.BLOCKED, "", 103), *(("process", Why.BLOCKED, "", pid) for pid in (105, 106)),
    ]  # fmt: skip


def test_orphans_belong_together_by_their_session() -> None:
    given = [{"RANK": str(n), "WORLD_SIZE": "3", "MASTER_ADDR": "localhost", "MASTER_PORT": "7"} for n in range(2)]
    ranks = [seen(101 + n, 1, PYTHON, "train.py", environ=environ) for n, environ in enumerate(given)]
    stranger = dataclasses.replace(silent(104, 1), session=9)
    (found,) = jobs(table(seen(1, 0, "bash", executable="/bin/bash"), *ranks, silent(103, 1), stranger))
    assert set(roles(found)) == {101, 102, 103}


def test_what_may_be_a_job_and_cannot_be_known_for_one_is_told() -> None:
    hidden = [dataclasses.replace(silent(70 + n, 1), missing=Why.DENIED) for n in range(2)]
    whole = table(*hidden, silent(80, 1), silent(81, 1, "/bin/sleep"))
    assert [(gap.why, gap.detail) for gap in closed(whole)] == [
        (Why.DENIED, "2 Python processes of other users could not be looked at"),
        (Why.BLOCKED, "1 Python process did not answer"),
    ]
    assert closed(table(seen(90, 1, PYTHON, "x.py"))) == ()
