"""Hosts that a job names itself: told to the user, asked only with --follow-hosts."""

from __future__ import annotations

import dataclasses

import pytest

from rankscope.model.evidence.environ import Environ
from rankscope.model.evidence.sockets import Socket, Sockets
from rankscope.model.gap import Why
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Snapshot
from rankscope.probe.sweep import Plan
from rankscope.reach import learn
from rankscope.reach.gather import Remote, gather
from rankscope.reach.transport import Options

from .conftest import Site, answer
from .test_join import gathered, ranks


def local(world: int = 4, **environ: str) -> Snapshot:
    """A look at node1 alone, whose ranks have connections."""
    (job,) = gathered({"node1": answer("node1", (0, 1), world=world)})
    ref = job.processes[0].ref
    sockets = Sockets((
        Socket(1, "tcp", "10.0.0.1:29500", "10.0.0.2:40000"), Socket(2, "tcp", "[::ffff:10.0.0.1]:9", "[::ffff:10.0.0.3]:9"),
        Socket(3, "tcp", "127.0.0.1:5", "127.0.0.1:6"), Socket(4, "tcp", "10.0.0.1:7", "10.0.0.1:8"), Socket(5, "unix"),
    ))  # fmt: skip
    first = job.sweeps[0]
    items = (*first.items, Item(ref, sockets), Item(ref, Environ(environ)))
    return dataclasses.replace(job, sweeps=(dataclasses.replace(first, items=items), *job.sweeps[1:]))


def followed(snapshot: Snapshot, options: Options | None = None) -> Snapshot:
    (one,) = learn.follow(snapshot, Plan(), options, lambda _: None)
    return one


def test_the_other_ends_of_connections_are_the_jobs_other_hosts() -> None:
    assert learn.hosts(local(MASTER_ADDR="node9")) == ("10.0.0.2", "10.0.0.3", "node9")


def test_hosts_that_the_launcher_told_its_ranks_are_the_jobs_as_well() -> None:
    told = learn.hosts(local(SLURM_JOB_NODELIST="node[7-8]", OMPI_MCA_orte_node_regex="login,node[1:3-4]@0(3)"))
    assert {"login", "node3", "node4", "node7", "node8"} <= set(told)
    assert set(learn.hosts(local(SLURM_JOB_NODELIST="node[1-99999999999]"))) == {"10.0.0.2", "10.0.0.3"}


def test_a_node_that_slurm_took_out_of_its_job_is_named_while_ranks_are_missing() -> None:
    given = {"SLURM_JOB_NODELIST": "node[1-2]"}
    (gap,) = learn.taken_out(local(**given), ("node1",))
    assert (gap.host, gap.why) == ("node2", Why.UNREACHABLE)
    assert gap.hint == "scontrol show node node2"
    assert not list(learn.taken_out(local(**given), ("node1", "node2")))
    assert not list(learn.taken_out(local(world=2, **given), ("node1",)))
    assert not list(learn.taken_out(local(SLURM_JOB_NODELIST="node[1-"), ("node1",)))


def test_hosts_are_called_as_this_site_calls_them(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = site.folder / "getent"
    tool.write_text("#!/bin/sh\necho '10.0.0.2 node2 node2.example'\necho '10.0.0.3 -oBad'\nexit 2\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{site.folder}:/usr/bin:/bin")
    assert learn.by_name(("10.0.0.2", "10.0.0.3", "node9")) == ("node2", "10.0.0.3", "node9")


def test_names_that_a_job_made_up_to_do_harm_are_no_hosts() -> None:
    assert learn.hosts(local(MASTER_ADDR="-oProxyCommand=touch /x")) == ("10.0.0.2", "10.0.0.3")


@pytest.mark.parametrize(
    "values",
    [{"MASTER_ADDR": "root@10.0.0.5"}, {"SLURM_JOB_NODELIST": "root@node[5-6]"}, {"SLURM_JOB_NODELIST": "@all"},
     {"SLURM_JOB_NODELIST": "node*"}],
)  # fmt: skip
def test_a_job_does_not_say_as_whom_to_log_in(values: dict[str, str]) -> None:
    """Whoever looks as an administrator would send that login to hosts which the job chose; nor are groups of the site its to
    name."""
    assert set(learn.hosts(local(**values))) <= {"10.0.0.2", "10.0.0.3"}


def test_ranks_elsewhere_are_told_with_their_hosts_and_nobody_is_asked(site: Site) -> None:
    told = followed(local())
    (gap,) = [gap for gap in told.gaps if gap.what == "other hosts"]
    assert "ranks 2-3" in gap.detail
    assert "10.0.0.2, 10.0.0.3" in gap.detail
    assert site.asked("10.0.0.2") == ""


def test_a_job_that_is_all_here_needs_no_word() -> None:
    assert not [gap for gap in followed(local(world=2)).gaps if gap.what == "other hosts"]


def test_hosts_are_asked_on_request_and_joined(site: Site) -> None:
    for name, held in (("node1", (0, 1)), ("10.0.0.2", (2,)), ("10.0.0.3", (3,))):
        site.host(name, held, world=4)
    joined = followed(local(), Options())
    assert ranks(joined) == [0, 1, 2, 3]
    assert not [gap for gap in joined.gaps if gap.what == "other hosts"]


def test_when_none_of_them_answers_the_look_at_this_host_remains(site: Site) -> None:
    for name in ("node1", "10.0.0.2", "10.0.0.3"):
        site.host(name, mode="refuse")
    alone = followed(local(), Options())
    assert ranks(alone) == [0, 1]
    assert [gap.what for gap in alone.gaps] == ["other hosts"]


def test_hosts_of_a_set_that_are_not_all_of_the_job_are_said_to_be_so(site: Site) -> None:
    """Two of four ranks were asked for: the others are elsewhere, and that is told."""
    site.host("node1", (0, 1), world=4)
    (job,) = gather(Remote("ssh", "node1"), Plan())
    (gap,) = [gap for gap in job.gaps if gap.what == "other hosts"]
    assert "ranks 2-3" in gap.detail
    assert "ssh:HOSTS" in gap.hint


def test_connections_of_daemons_of_mpi_lead_to_mpirun_and_to_no_host_of_the_job() -> None:
    """Its ranks inherit them."""
    seen = local()
    daemon = ProcessRef("node1", 50, 5)
    control = Sockets((Socket(1, "tcp", "10.0.0.1:29500", "10.0.0.2:40000"),))
    first = seen.sweeps[0]
    seen = dataclasses.replace(
        seen, job=dataclasses.replace(seen.job, launcher="mpi"), processes=(*seen.processes, Process(daemon, Role.LAUNCHER)),
        sweeps=(dataclasses.replace(first, items=(*first.items, Item(daemon, control))), *seen.sweeps[1:]),
    )  # fmt: skip
    assert learn.hosts(seen) == ("10.0.0.3",)
    assert learn.hosts(dataclasses.replace(seen, job=dataclasses.replace(seen.job, launcher="torchrun"))) == (
        "10.0.0.2",
        "10.0.0.3",
    )


def test_a_rank_of_prrte_says_where_the_mpirun_is_that_knows_all_hosts() -> None:
    seen = followed(local(PMIX_NAMESPACE="prterun-login-781@1"))
    assert [gap.hint for gap in seen.gaps if gap.what == "other hosts"] == [
        "its mpirun knows all of them: on login, rankscope diagnose mpi:781"
    ]
