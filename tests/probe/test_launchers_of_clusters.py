"""Ranks that only Slurm or MPI has numbered, and the words by which hosts recognise one job."""

from __future__ import annotations

import pytest

from rankscope.model.process import Role
from rankscope.probe import discover
from rankscope.probe.meeting import meeting
from rankscope.probe.table import Seen, Table

STEP = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "4"}


def process(
    pid: int, parent: int, environ: dict[str, str], comm: str = "python3", command: str = "python3 train.py"
) -> Seen:
    executable = "/usr/bin/python3" if comm.startswith(("python", "pt_")) else f"/usr/bin/{comm}"
    return Seen(pid, parent, pid, 1, 1, comm, "S", 0, tuple(command.split()), executable, environ)


def host(*processes: Seen) -> Table:
    children: dict[int, list[int]] = {}
    for one in processes:
        children.setdefault(one.parent, []).append(one.pid)
    return Table(
        "node1", {one.pid: one for one in processes}, (), {pid: tuple(below) for pid, below in children.items()}
    )


def task(rank: int) -> dict[str, str]:
    return {**STEP, "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank % 2)}


def test_tasks_of_a_step_are_ranks_and_their_workers_are_not() -> None:
    table = host(
        process(5, 1, task(2), "slurmstepd", "slurmstepd: [7.0]"), process(10, 5, task(2)), process(11, 5, task(3)),
        process(20, 10, task(2), "pt_data_worker"),
    )  # fmt: skip
    (found,) = discover.jobs(table)
    assert found.job.launcher == "slurm"
    assert found.job.world_size == 4
    assert found.job.meeting == ("slurm:7.0",)
    assert {p.ref.pid: (p.role, p.rank) for p in found.processes} == {
        10: (Role.RANK, 2), 11: (Role.RANK, 3), 20: (Role.DATALOADER_WORKER, 2)}  # fmt: skip


def test_two_jobs_that_wiped_their_number_are_told_apart_by_the_daemon_above_them() -> None:
    wiped = {name: value for name, value in task(0).items() if name != "SLURM_JOB_ID"}
    table = host(
        process(5, 1, {}, "slurmstepd", "slurmstepd: [7.0]"), process(10, 5, wiped),
        process(6, 1, {}, "slurmstepd", "slurmstepd: [8.0]"), process(11, 6, wiped),
    )  # fmt: skip
    ranks = [[one.ref.pid for one in found.processes if one.role is Role.RANK] for found in discover.jobs(table)]
    assert sorted(ranks) == [[10], [11]]


def test_a_batch_script_is_no_task() -> None:
    environ = {"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_NTASKS": "4"}
    assert discover.jobs(host(process(10, 1, environ))) == ()


def test_a_task_that_spawns_its_ranks_itself_is_not_taken_for_a_rank() -> None:
    spawned = "python3 -c from_multiprocessing.spawn_import spawn_main(tracker_fd=5)"
    table = host(
        process(10, 1, task(0)), process(11, 10, task(0), command=spawned), process(12, 10, task(0), command=spawned)
    )
    (found,) = discover.jobs(table)
    assert found.job.launcher == "plain"


def test_torchrun_inside_a_step_is_torchruns() -> None:
    rank = {**task(0), "RANK": "0", "WORLD_SIZE": "4", "LOCAL_RANK": "0", "TORCHELASTIC_RUN_ID": "none"}
    table = host(process(9, 1, task(0), "pt_elastic", "python3 torchrun train.py"), process(10, 9, rank))
    assert [found.job.launcher for found in discover.jobs(table)] == ["torchrun"]


def test_ranks_of_mpirun_belong_to_their_daemon() -> None:
    def environ(rank: int) -> dict[str, str]:
        return {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "4", "PMIX_NAMESPACE": "123",
                "OMPI_COMM_WORLD_LOCAL_RANK": str(rank // 2)}  # fmt: skip

    table = host(process(9, 1, {}, "orted", "orted -mca x"), process(10, 9, environ(0)), process(11, 9, environ(2)))
    (found,) = discover.jobs(table)
    assert found.job.launcher == "mpi"
    assert found.job.root is not None
    assert found.job.root.pid == 9
    assert found.job.meeting == ("pmix:123",)
    # Ranks 0 and 2 may be placed round robin: nothing says that rank 1 is missing here.
    assert found.job.expected == ""


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("torchrun --rdzv-endpoint=node1:29400 --rdzv_id job7 t.py", ("endpoint:node1:29400", "run:job7")),
        ("torchrun --master-addr node1 --nnodes 2 t.py", ("master:node1:29500",)),
        ("torchrun --master_addr=node1 --master_port=5 t.py", ("master:node1:5",)),
        ("torchrun --rdzv-endpoint=localhost:0 t.py", ()),
        ("torchrun --standalone t.py", ()),
        ("torchrun t.py --master-addr elsewhere", ()),
    ],
)
def test_words_of_a_launchers_command_line(command: str, words: tuple[str, ...]) -> None:
    assert meeting([], tuple(command.split())) == words


def test_a_meeting_point_on_the_own_host_ties_no_hosts_together() -> None:
    assert meeting([{"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", "TORCHELASTIC_RUN_ID": "none"}], ()) == ()
