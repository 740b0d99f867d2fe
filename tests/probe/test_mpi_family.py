"""Which mpirun a process belongs to, where several have ranks on one node."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.probe import agent, mpi_family, mpi_job
from rankscope.probe.errand import Errand
from rankscope.probe.meeting import meeting
from rankscope.probe.table import Seen, Table

ORTED = "orted -mca ess env -mca ess_base_jobid 127139840 -mca ess_base_vpid 1 -mca ess_base_num_procs 3"
PRTED = (
    "/opt/mpi/bin/prted --prtemca ess env --prtemca ess_base_nspace prterun-login-781@0 --prtemca ess_base_num_procs 4"
)
PROXY = "/opt/mpi/bin/hydra_pmi_proxy --control-port login:35089 --rmk user --proxy-id 1"


@pytest.mark.parametrize(
    ("command", "family", "daemons"),
    [
        (ORTED, "orte-1940", 3),
        ('/usr/bin/ssh -x node1 orted -mca ess_base_jobid "127139840" -mca ess_base_num_procs "3"', "orte-1940", 3),
        (PRTED, "prterun-login-781", 4),
        (PROXY, "hydra-login:35089", 0),
        ("mpirun -np 4 python train.py", "", 0),
        ("orted -mca ess_base_num_procs many -mca ess_base_jobid", "", 0),
    ],
)
def test_daemons_are_told_the_family_that_they_belong_to(command: str, family: str, daemons: int) -> None:
    assert mpi_family.of_command(command.split()) == family
    assert mpi_family.daemons(command.split()) == daemons


@pytest.mark.parametrize(
    ("name", "family"),
    [("127139841", "orte-1940"), ("prterun-login-781@1", "prterun-login-781"), ("slurm.pmix.7.0", "")],
)
def test_ranks_bear_the_name_of_their_job(name: str, family: str) -> None:
    assert mpi_family.of_namespace(name) == family


def test_a_name_of_prrte_tells_where_its_mpirun_runs() -> None:
    assert mpi_family.launched_by("prterun-gpu-login.site-781@2") == ("gpu-login.site", 781)
    assert mpi_family.launched_by("127139841") is None


@given(st.lists(st.sampled_from(["ess_base_jobid", "ess_base_nspace", "--control-port", "9" * 30, '"', "@", "é²"])))
def test_any_command_line_has_a_family_or_none(command: list[str]) -> None:
    assert isinstance(mpi_family.of_command(command), str)
    assert mpi_family.daemons(command) >= 0


def seen(pid: int, parent: int, command: str, **environ: str) -> Seen:
    words = tuple(command.split())
    comm = words[0].rpartition("/")[2][:15]
    return Seen(pid, parent, 1, 1, 1, comm, "S", 0, words, "/usr/bin/python3" if environ else None, environ)


def table(*processes: Seen) -> Table:
    children: dict[int, tuple[int, ...]] = {}
    for one in processes:
        children[one.parent] = (*children.get(one.parent, ()), one.pid)
    return Table("node1", {one.pid: one for one in processes}, (), children)


def rank(pid: int, parent: int, **environ: str) -> Seen:
    return seen(pid, parent, "python3 train.py", PMI_RANK="0", PMI_SIZE="2", **environ)


def test_of_two_families_on_one_node_only_the_ranks_of_the_wanted_one_are_taken() -> None:
    other = PROXY.replace("35089", "40000")
    here = table(seen(10, 1, PROXY), rank(11, 10), seen(20, 1, other), rank(21, 20))
    (found,) = mpi_job.jobs(here, "hydra-login:40000")
    assert {process.ref.pid for process in found.processes} == {20, 21}
    assert mpi_job.jobs(here, "hydra-login:1") == ()
    asked = agent.wanted(Errand(mpi_job="hydra-login:40000"), here)
    assert [one.processes for one in asked] == [found.processes]
    assert len(agent.wanted(Errand(), here)) == 2


def test_ranks_whose_daemon_has_died_are_taken_and_a_job_that_is_none_of_mpi_is_not() -> None:
    orphan, stranger = rank(11, 1), seen(30, 1, "python3 other.py", RANK="0", WORLD_SIZE="2", MASTER_ADDR="n")
    (found,) = mpi_job.jobs(table(orphan, stranger), "hydra-login:35089")
    assert [process.ref.pid for process in found.processes] == [11]


def test_the_parts_of_one_family_on_two_hosts_know_each_other_and_those_of_another_do_not() -> None:
    mine, theirs = (meeting([], tuple(text.split())) for text in (PROXY, PROXY.replace("35089", "40000")))
    assert mine == ("mpi:hydra-login:35089",)
    assert not set(mine) & set(theirs)


def test_what_a_rank_started_is_of_the_same_family() -> None:
    here = table(seen(10, 1, ORTED), rank(11, 10), seen(12, 11, "python3 -c pass"))
    assert mpi_family.of_process(here, 12) == "orte-1940"
    alone = table(dataclasses.replace(rank(11, 1), environ={"PMIX_NAMESPACE": "127139842"}))
    assert mpi_family.of_process(alone, 11) == "orte-1940"
