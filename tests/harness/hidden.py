"""Jobs made by hand as they look to a user who may not read their stacks: states, wait channels, descriptors, connections."""

from __future__ import annotations

from dataclasses import dataclass, field

from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.may_wait import MayWait
from rankscope.model.evidence.outsiders import Outsiders
from rankscope.model.evidence.sockets import Socket, Sockets
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Host, Item, Job, Snapshot, Sweep
from rankscope.probe.collectors.may_wait import possible

FUTEX, NAP, TCP, UNIX, POLL, CHILD = (
    "futex_do_wait", "hrtimer_nanosleep", "wait_woken", "unix_stream_read_generic", "poll_schedule_timeout", "do_wait",
)  # fmt: skip
READ, WRITE = "anon_pipe_read", "anon_pipe_write"
BETWEEN_S = 0.7  # seconds between the two looks


@dataclass(frozen=True)
class Task:
    """One thread: how often it woke between the looks, and the CPU time that it used then."""

    wchan: str = FUTEX
    woke: int = 0
    cpu_s: float = 0.0
    still_s: float = 99.0
    comm: str = "python"
    state: str = "S"

    def at(self, tid: int, look: int) -> KernelThread:
        wchan = self.wchan if self.state in "SD" else ""
        return KernelThread(tid, self.comm, self.state, wchan, cpu_s=look * self.cpu_s, voluntary=5 + look * self.woke,
                            involuntary=0, still_s=0.0 if self.woke else self.still_s)  # fmt: skip


@dataclass(frozen=True)
class Body:
    """One process; its first task is the main thread. ``fds`` name what its descriptors from 3 on point to."""

    pid: int
    tasks: tuple[Task, ...] = (Task(),)
    rank: int | None = None
    role: Role = Role.RANK
    parent: int = 1
    fds: tuple[tuple[str, str], ...] = ()
    sockets: tuple[Socket, ...] = ()
    watched: tuple[tuple[int, ...], ...] = ()
    semaphores: int = 0
    executable: str = "/usr/bin/python3.11"
    command: tuple[str, ...] = ("python", "train.py")
    outsiders: Outsiders | None = None
    sent_bytes: int = 0
    started: int = 1
    more: tuple[object, ...] = field(default=())

    @property
    def ref(self) -> ProcessRef:
        return ProcessRef("n1", self.pid, self.started)

    @property
    def process(self) -> Process:
        return Process(self.ref, self.role, parent=self.parent, comm="python", command=self.command,
                       executable=self.executable, rank=self.rank)  # fmt: skip

    def look(self, number: int) -> list[Item]:
        tasks = tuple(task.at(self.pid + index, number) for index, task in enumerate(self.tasks))
        files = tuple(OpenFile(3 + at, target, mode) for at, (target, mode) in enumerate(self.fds))
        known = {one.inode: one for one in self.sockets}
        waits = tuple(one for task in tasks if (one := possible(task, files, known, self.watched)) is not None)
        records: list[object] = [
            Threads(tasks, uptime_s=200.0 + number * BETWEEN_S, read_bytes=0, written_bytes=number * self.sent_bytes,
                    exact_ages=True),
            OpenFiles(files), Sockets(self.sockets), MayWait(waits, self.semaphores), *self.more,
        ]  # fmt: skip
        if self.outsiders is not None:
            records.append(self.outsiders)
        return [Item(self.ref, record) for record in records]


def job(*bodies: Body, launcher: str = "torchrun", world: int | None = None) -> Snapshot:
    """A live job of one host, looked at twice."""
    refs = tuple(body.ref for body in bodies)
    sweeps = tuple(
        Sweep(at, at * BETWEEN_S, refs, tuple(item for body in bodies for item in body.look(at))) for at in (0, 1)
    )
    expected = f"0-{world - 1}" if world else ""
    return Snapshot(
        Job(launcher, world_size=world, expected=expected),
        (Host("n1"),),
        tuple(body.process for body in bodies),
        sweeps,
    )


def tcp(inode: int, peer: int, received: int = 0, sent: int = 0, resent: int = 0) -> Socket:
    """One end of a connection within the host."""
    mine, other = f"10.0.0.1:{inode}", f"10.0.0.1:{peer}"
    return Socket(inode, "tcp", mine, other, "established", received, sent, peer, resent=resent)


def link(*inodes: int) -> tuple[tuple[str, str], ...]:
    """Descriptors of sockets."""
    return tuple((f"socket:[{inode}]", "rw") for inode in inodes)


def star(sick: Body, world: int = 3) -> list[Body]:
    """Ranks that all talk to rank 0, where they wait for the sick one; its own connection has inode 200 + its rank."""
    others = [rank for rank in range(1, world) if rank != sick.rank]
    hub = Body(70, (Task(TCP),), 0, fds=link(*(100 + rank for rank in range(1, world))),
               sockets=tuple(tcp(100 + rank, 200 + rank) for rank in range(1, world)))  # fmt: skip
    return [hub, *(Body(70 + 10 * rank, (Task(TCP),), rank, fds=link(200 + rank), sockets=(tcp(200 + rank, 100 + rank),))
                   for rank in others), sick]  # fmt: skip
