"""The hosts of an mpirun, from its daemons and its command line."""

from __future__ import annotations

import dataclasses
import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.errors import RankscopeError
from rankscope.probe.table import Seen, Table
from rankscope.reach import mpi, orte
from rankscope.reach.hostnames import valid
from rankscope.reach.transport import Options


@pytest.mark.parametrize(
    ("command", "host"),
    [
        ("/usr/bin/ssh -x node1 PATH=/opt/bin:$PATH ; orted -mca x", "node1"),
        ("ssh -o BatchMode=yes -p 22 -l alice alice@node2 orted", "node2"),
        ("ssh -oX=y node3", "node3"),
        ("orted -mca ess env", None),
        ("ssh -V", None),
    ],
)
def test_the_target_of_an_ssh_command(command: str, host: str | None) -> None:
    assert mpi.ssh_target(command.split()) == host


def test_hosts_named_on_the_command_line(tmp_path: pathlib.Path) -> None:
    (tmp_path / "hf").write_text("node1 slots=2\nnode2:2\n")
    assert list(mpi.named("mpirun -np 4 -H a:2,b python x.py".split(), "/")) == ["a", "b"]
    assert list(mpi.named("mpirun --hostfile hf python x.py".split(), str(tmp_path))) == ["node1", "node2"]
    assert list(mpi.named("mpiexec -np 4 python x.py".split(), "/")) == []


def seen(pid: int, parent: int, comm: str, command: str) -> Seen:
    return Seen(pid, parent, 1, 1, 1, comm, "S", 0, tuple(command.split()))


def test_daemons_that_were_started_through_ssh_name_the_hosts() -> None:
    table = Table(
        "login",
        {10: seen(10, 1, "mpirun", "mpirun -np 2 -H x,y t.py"), 11: seen(11, 10, "ssh", "ssh -x node1 orted"),
         12: seen(12, 10, "ssh", "ssh -x node2 orted")},
        children={1: (10,), 10: (11, 12)},
    )  # fmt: skip
    assert list(mpi.hosts_of(table, 10)) == ["node1", "node2"]


def test_a_process_that_is_no_mpirun_is_refused() -> None:
    with pytest.raises(RankscopeError, match="no mpirun"):
        mpi.find("1", Options())
    with pytest.raises(RankscopeError, match="not a process"):
        mpi.find("$(x)", Options())


@pytest.mark.parametrize(
    ("text", "nodes", "names"),
    [
        ("login,node[1:1-3]@0(4)", "", "login node1 node2 node3"),
        ("login,node[1:1-3]@0(4)", "3", "node1 node2 node3"),
        ("gpu[3:7,9-11].ib,other@0(5)", "5", "gpu007.ib gpu009.ib gpu010.ib gpu011.ib other"),
        ("-oProxyCommand=x,node1@0(2)", "", "node1"),
        ("node[1:1-99999999999]", "", ""),
        (f"node[1:{'9' * 5000}],login@0(2)", "", "login"),
        ("node[1:²-³],login@0(2)", "", "login"),
        ("", "", ""),
    ],
)
def test_hosts_that_open_mpi_told_its_daemons(text: str, nodes: str, names: str) -> None:
    assert orte.hosts(text, nodes) == tuple(names.split())


@given(st.text(max_size=60))
def test_any_text_of_a_job_gives_host_names_or_nothing(text: str) -> None:
    assert all(valid(name) for name in orte.hosts(text))


def test_ranks_below_a_daemon_name_the_hosts_of_the_whole_job() -> None:
    told = {"OMPI_MCA_orte_node_regex": "login,node[1:1-2]@0(3)", "OMPI_MCA_orte_num_nodes": "2"}
    rank = dataclasses.replace(seen(11, 10, "python", "python t.py"), environ=told)
    table = Table("node1", {10: seen(10, 1, "orted", "orted -mca x"), 11: rank}, children={1: (10,), 10: (11,)})
    assert list(mpi.hosts_of(table, 10)) == ["node1", "node2"]


def test_daemons_that_were_started_through_srun_are_on_the_nodes_of_its_list() -> None:
    command = "srun --ntasks-per-node=1 --kill-on-bad-exit --nodelist=node[1-2],node4 --ntasks=3 orted -mca x"
    assert mpi.targets(command.split()) == ("node1", "node2", "node4")


def through_ssh(node: str, family: str = "prterun-login-10", daemons: int = 3) -> str:
    about = f'--prtemca ess_base_nspace "{family}@0" --prtemca ess_base_num_procs "{daemons}"'
    return f"/usr/bin/ssh -x {node} PRTE_PREFIX=/opt/mpi;export PRTE_PREFIX;/opt/mpi/bin/prted {about}"


def prterun(*commands: str, line: str = "prterun -np 2 t.py", **environ: str) -> Table:
    """An mpirun of Open MPI 5 on the login node, and its children."""
    children = {20 + number: seen(20 + number, 10, "ssh", command) for number, command in enumerate(commands)}
    first = dataclasses.replace(seen(10, 1, "prterun", line), environ=environ)
    return Table("login", {10: first, **children}, children={1: (10,), 10: tuple(children)})


def test_daemons_of_prrte_name_the_hosts_and_their_family() -> None:
    table = prterun(through_ssh("node1"), through_ssh("node2"))
    assert list(mpi.hosts_of(table, 10)) == ["node1", "node2"]
    assert mpi.family(table, 10) == "prterun-login-10"
    assert mpi.others(table, 10) == 2


def test_where_daemons_started_others_the_options_or_the_allocation_name_the_rest() -> None:
    named = prterun(through_ssh("node1"), line="prterun -H node1:1,node2:1 t.py")
    assert set(mpi.hosts_of(named, 10)) == {"node1", "node2"}
    given = prterun(through_ssh("node1"), SLURM_JOB_NODELIST="node[1-2]")
    assert set(mpi.hosts_of(given, 10)) == {"node1", "node2"}


def test_a_list_on_the_command_line_of_a_daemon_leaves_out_the_host_of_mpirun() -> None:
    line = 'ssh -x node1 orted -mca ess_base_num_procs "3" -mca orte_node_regex "login,node[1:1-2]@0(3)"'
    assert set(mpi.hosts_of(prterun(line), 10)) == {"node1", "node2"}


@pytest.mark.parametrize(
    ("comm", "command", "hint"),
    [
        ("prted", "prted --prtemca ess_base_nspace prterun-login-781@0", "on login, rankscope diagnose mpi:781"),
        ("hydra_pmi_proxy", "hydra_pmi_proxy --control-port login:35089", "on login, rankscope diagnose mpi:$("),
        ("prted", "prted --prtemca ess_base_nspace prterun--oProxyCommand=x-781@0", "on the host where it runs"),
    ],
)
def test_a_daemon_that_knows_no_other_host_says_who_does(comm: str, command: str, hint: str) -> None:
    table = Table("node1", {10: seen(10, 1, comm, command)}, children={1: (10,)})
    assert hint in mpi.beyond(table, 10)


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("srun -N 2 -n 2 --input none hydra_pmi_proxy --control-port node1:3508", "node1 node2 node3"),
        ("srun --nodelist node[2-3] -N 2 hydra_pmi_proxy", "node2 node3"),
        ("srun -w node2 -N 1 hydra_pmi_proxy", "node2"),
    ],
)
def test_a_step_of_daemons_without_a_list_has_all_nodes_of_the_allocation(command: str, names: str) -> None:
    table = prterun(command, line="mpiexec -n 6 t.py", SLURM_JOB_NODELIST="node[1-3]")
    assert list(mpi.hosts_of(table, 10)) == names.split()
