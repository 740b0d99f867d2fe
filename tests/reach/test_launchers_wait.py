"""Launchers that wait for other hosts before there is any rank."""

from __future__ import annotations

import dataclasses
import shlex

import pytest

from rankscope.model.diagnosis import Certainty, Diagnosis
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack, Trust
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.gap import Gap, Why
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Host, Item, Job, Snapshot, Sweep
from rankscope.pipeline import judge

ELASTIC = "/v/site-packages/torch/distributed/elastic/"
MEETING = (
    Frame("run", "/v/site-packages/torch/distributed/run.py", 900),
    Frame("next_rendezvous", f"{ELASTIC}rendezvous/dynamic_rendezvous.py", 1200),
)
MONITOR = (MEETING[0], Frame("_invoke_run", f"{ELASTIC}agent/server/api.py", 800))


def job(
    hosts: tuple[str, ...],
    nnodes: str = "3",
    age_s: float = 90.0,
    gaps: tuple[Gap, ...] = (),
    stack: tuple[Frame, ...] = MEETING,
    options: tuple[str, ...] = (),
) -> Snapshot:
    refs = [ProcessRef(host, 10, 1) for host in hosts]
    command = ("python", "-m", "torch.distributed.run", "--nnodes", nnodes, *options, "train.py")
    records = (
        PythonStacks((PythonThread(10, Stack(stack), "MainThread", Trust.EXACT),), "memory"),
        Threads((KernelThread(10, "pt_elastic", "S", "hrtimer_nanosleep", still_s=0.3),), uptime_s=age_s),
    )
    sweep = Sweep(0, 1.0, tuple(refs), tuple(Item(ref, record) for ref in refs for record in records))
    return Snapshot(
        Job("torchrun", refs[0]), tuple(Host(host) for host in hosts),
        tuple(Process(ref, Role.LAUNCHER, comm="pt_elastic", command=command) for ref in refs),
        (sweep, dataclasses.replace(sweep, index=1, at_s=2.0)), gaps,
    )  # fmt: skip


def found(said: Diagnosis) -> list[tuple[str, Certainty]]:
    return [(one.title, one.certainty) for one in said.findings if one.rule == "launchers-wait-for-hosts"]


def test_the_host_that_did_not_come_is_named() -> None:
    absent = Gap("host", Why.GONE, "no process of this job runs there", host="node3")
    ((title, certainty),) = found(judge(job(("node1", "node2"), gaps=(absent,))))
    assert "2 of 3 hosts" in title
    assert "node3 did not come" in title
    assert certainty is Certainty.LIKELY


def test_what_is_asked_on_the_host_that_did_not_come_is_one_word_for_its_shell() -> None:
    """A pipe sign that only our own shell takes for quoted would start another program there."""
    absent = Gap("host", Why.GONE, "no process of this job runs there", host="node3")
    step = next(one for one in judge(job(("node1", "node2"), gaps=(absent,))).next if str(one).startswith("ssh node3 "))
    _, _, asked = shlex.split(str(step))
    assert shlex.split(asked) == ["pgrep", "-af", "torchrun|torch.distributed.run"]


def test_from_one_host_alone_it_is_only_possible() -> None:
    assert [certainty for _, certainty in found(judge(job(("node1",))))] == [Certainty.POSSIBLE]


@pytest.mark.parametrize(
    ("options", "certainty"),
    [
        (("--rdzv-endpoint", "127.0.0.1:29400"), Certainty.LIKELY),
        (("--rdzv_endpoint=localhost:29400",), Certainty.LIKELY),
        (("--master-addr", "node1"), Certainty.POSSIBLE),
    ],
)
def test_a_meeting_point_that_no_other_host_can_reach(options: tuple[str, ...], certainty: Certainty) -> None:
    assert [best for _, best in found(judge(job(("node1",), options=options)))] == [certainty]


def test_launchers_of_all_hosts_that_do_not_meet() -> None:
    assert "do not meet" in found(judge(job(("node1", "node2", "node3"))))[0][0]


@pytest.mark.parametrize(
    "healthy",
    [
        job(("node1", "node2"), age_s=6.0),  # they have only just started
        job(("node1", "node2"), stack=MONITOR),  # they watch their ranks
        job(("node1",), nnodes="1"),
        job(("node1",), nnodes="1:4"),
        job(("node1",), nnodes="x"),
        job(("node1",), nnodes="9" * 5000),
    ],
)
def test_launchers_that_start_or_watch_are_not_accused(healthy: Snapshot) -> None:
    assert found(judge(healthy)) == []


def test_launchers_that_were_given_names_of_their_own_do_not_meet() -> None:
    together = job(("node1", "node2"), nnodes="2", options=("--rdzv-id=tune-1",))
    first, second = together.processes
    apart = dataclasses.replace(second, command=tuple(part.replace("tune-1", "tune-2") for part in second.command))
    for processes, certainty in (((first, second), Certainty.POSSIBLE), ((first, apart), Certainty.LIKELY)):
        (said,) = found(judge(dataclasses.replace(together, processes=processes)))
        assert said == ("the launchers of all 2 hosts run, and do not meet", certainty)
