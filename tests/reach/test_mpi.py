"""The hosts of an mpirun, from its daemons and its command line."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.errors import RankscopeError
from rankscope.probe.table import Seen, Table
from rankscope.reach import mpi
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
