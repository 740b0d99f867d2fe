"""Daemons of an MPI job, one on each host, keep connections to each other and listen: nobody waits for anybody there."""

from __future__ import annotations

import pytest

from rankscope.model.evidence.blocked import Blocked, BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.sockets import Socket, Sockets
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import case_of

HERE, THERE = ProcessRef("login", 50, 1), ProcessRef("node1", 60, 1)


def one(ref: ProcessRef, local: str, peer: str) -> tuple[Item, ...]:
    """A process that has stood in poll(2) for long, on a connection to the other host."""
    records = (
        Threads((KernelThread(ref.pid, "orted", "S", "poll_schedule_timeout", still_s=99.0),), uptime_s=200.0),
        Blocked((BlockedCall(ref.pid, "poll", (9,)),)),
        OpenFiles((OpenFile(9, f"socket:[{ref.pid}]"),)),
        Sockets((Socket(ref.pid, "tcp", local, peer),)),
    )
    return tuple(Item(ref, record) for record in records)


def waits(role: Role) -> int:
    items = (*one(HERE, "10.0.0.1:7", "10.0.0.2:8"), *one(THERE, "10.0.0.2:8", "10.0.0.1:7"))
    processes = tuple(Process(ref, role, comm="orted") for ref in (HERE, THERE))
    sweeps = tuple(Sweep(number, float(number), (HERE, THERE), items) for number in (0, 1))
    return len(case_of(Snapshot(Job("mpi"), processes=processes, sweeps=sweeps)).graph.waits)


@pytest.mark.parametrize(("role", "count"), [(Role.LAUNCHER, 0), (Role.RANK, 2)])
def test_launchers_of_two_hosts_do_not_wait_for_each_other_and_ranks_do(role: Role, count: int) -> None:
    assert waits(role) == count
