"""Data that is under way between two hosts and does not arrive, seen from both ends of the connection."""

from __future__ import annotations

import pytest

from rankscope.analysis.build import build
from rankscope.model.diagnosis import Finding
from rankscope.model.evidence.blocked import Blocked, BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.sockets import Socket, Sockets
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Host, Item, Job, Snapshot, Sweep
from rankscope.rules.seen.connection_silent import check

HOSTS = ("node1", "node2")


def rank(number: int, pid: int) -> Process:
    return Process(ProcessRef(HOSTS[number % 2], pid, 5), Role.RANK, rank=number, world_size=4, comm="python")


def worker(of: Process) -> Process:
    return Process(ProcessRef(of.ref.host, of.ref.pid + 1, 6), Role.DATALOADER_WORKER, parent=of.ref.pid, rank=of.rank,
                   owner=of.ref.pid, comm="pt_data_worker")  # fmt: skip


def end(port: int, there: int, here: int, unsent: int, unread: int = 0, resent: int = 5) -> Socket:
    mine, other = f"10.0.0.{here}:{port}", f"10.0.0.{there}:{port}"
    return Socket(port, "tcp", mine, other, "established", unread, unsent, resent=resent if unsent else 0)


def holds(process: Process, *sockets: Socket, reads: bool = True, still_s: float = 60.0) -> list[Item]:
    ref = process.ref
    files = tuple(OpenFile(9 + i, f"socket:[{one.inode}]") for i, one in enumerate(sockets))
    calls = (BlockedCall(ref.pid, "epoll_wait", tuple(file.fd for file in files)),) if reads else ()
    task = KernelThread(ref.pid, "python", "S", "ep_poll", voluntary=9, involuntary=1, still_s=still_s)
    return [Item(ref, Sockets(sockets)), Item(ref, OpenFiles(files)), Item(ref, Blocked(calls)),
            Item(ref, Threads((task,), uptime_s=500.0))]  # fmt: skip


def found(processes: tuple[Process, ...], *items: list[Item]) -> list[Finding]:
    refs = tuple(process.ref for process in processes)
    all_items = tuple(item for some in items for item in some)
    sweeps = tuple(Sweep(number, 1.0 + number, refs, all_items) for number in (0, 1))
    job = Job("torchrun", None, 4, "train.py")
    return list(check(build(Snapshot(job, tuple(map(Host, HOSTS)), processes, sweeps), 30.0)))


ONE, OTHER = rank(0, 100), rank(1, 100)


def test_one_way_and_both_ways_are_one_finding_each() -> None:
    (finding,) = found((ONE, OTHER), holds(ONE, end(7, 2, 1, 96)), holds(OTHER, end(7, 1, 2, 0)))
    assert "does not reach rank 1" in finding.title
    (finding,) = found((ONE, OTHER), holds(ONE, end(7, 2, 1, 96)), holds(OTHER, end(7, 1, 2, 96)))
    assert "send each other does not arrive" in finding.title


def test_loader_workers_that_inherited_the_sockets_do_not_hide_who_reads() -> None:
    mine, theirs = (end(7, 2, 1, 96),), (end(7, 1, 2, 0),)
    first, second = worker(ONE), worker(OTHER)
    (finding,) = found(
        (ONE, first, OTHER, second), holds(ONE, *mine), holds(first, *mine, reads=False), holds(OTHER, *theirs),
        holds(second, *theirs, reads=False),
    )  # fmt: skip
    assert [process.ref for process in finding.processes] == [ONE.ref, OTHER.ref]


def test_all_connections_between_two_hosts_are_one_finding() -> None:
    more, others = rank(2, 200), rank(3, 200)
    (finding,) = found(
        (ONE, OTHER, more, others), holds(ONE, end(7, 2, 1, 96)), holds(OTHER, end(7, 1, 2, 0)),
        holds(more, end(8, 2, 1, 96)), holds(others, end(8, 1, 2, 0)),
    )  # fmt: skip
    assert finding.title == "data between node1 and node2 does not arrive, on 2 connections of 2 pairs of ranks"


def test_what_arrived_and_was_not_read_or_is_young_is_no_fault_of_the_network() -> None:
    assert found((ONE, OTHER), holds(ONE, end(7, 2, 1, 96)), holds(OTHER, end(7, 1, 2, 0, unread=40))) == []
    assert found((ONE, OTHER), holds(ONE, end(7, 2, 1, 96)), holds(OTHER, end(7, 1, 2, 0), reads=False)) == []
    young = holds(OTHER, end(7, 1, 2, 0), still_s=2.0)
    assert found((ONE, OTHER), holds(ONE, end(7, 2, 1, 96)), young) == []


@pytest.mark.parametrize("resent", [0, 2])
def test_a_transfer_under_way_is_no_fault_of_the_network(resent: int) -> None:
    """A large tensor over a slow link: at any moment megabytes are on their way, and the reader has read all that came."""
    sends = holds(ONE, end(7, 2, 1, 2_800_000, resent=resent))
    assert found((ONE, OTHER), sends, holds(OTHER, end(7, 1, 2, 0))) == []
