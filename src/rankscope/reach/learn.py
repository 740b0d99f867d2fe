"""Hosts that a job names itself, for a job without a scheduler or from inside one of its containers.

The other ends of its ranks' connections, its meeting point, and what its launcher told its ranks. They are told to the user,
and asked only on request: the job is not trusted, and names from it must not send anybody's keys around.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Container, Iterator, Mapping
from typing import TYPE_CHECKING

from ..errors import RankscopeError
from ..model.evidence.environ import Environ
from ..model.evidence.sockets import Sockets
from ..model.gap import Gap, Why
from ..model.process import Role
from ..model.ranks import RankSet, ranks_phrase
from ..model.snapshot import Snapshot
from ..model.words import verb
from ..probe import child
from ..probe.mpi_family import launched_by
from ..probe.sweep import Plan
from . import hostnames, orte

if TYPE_CHECKING:
    from .transport import Options, Progress

_NAMES_S = 1.0  # a site whose name service is slow has its hosts shown by address
_HERE = ("127.", "localhost", "0.0.0.0", "::1", "::")  # noqa: S104 - addresses that mean this host


def elsewhere(snapshot: Snapshot) -> RankSet:
    """The ranks of a job that do not run on the hosts that were looked at."""
    seen = RankSet(p.rank for p in snapshot.processes if p.role is Role.RANK and p.rank is not None)
    return RankSet(range(snapshot.job.world_size or 0)) - snapshot.job.expected_ranks - seen if seen else RankSet()


def hosts(snapshot: Snapshot) -> tuple[str, ...]:
    """The other hosts that the job's ranks are connected to, or want to meet at; by name first, then by address."""
    local: set[str] = {name for host in snapshot.hosts for name in (host.name, host.name.partition(".")[0])}
    found: dict[str, None] = {}
    control = _control(snapshot)
    for record in (item.record for sweep in snapshot.sweeps for item in sweep.items):
        if isinstance(record, Environ):
            found.update(dict.fromkeys(_told(record.values)))
        elif isinstance(record, Sockets):
            tcp = [one for one in record.sockets if one.kind == "tcp" and one.peer and one.inode not in control]
            local.update(_address(socket.local) for socket in tcp)
            found.update(dict.fromkeys(_address(socket.peer) for socket in tcp))
    return tuple(name for name in found if name not in local and not name.startswith(_HERE) and hostnames.told(name))


def _control(snapshot: Snapshot) -> frozenset[int]:
    """The connections of MPI's daemons, which their ranks inherit: they lead to mpirun, whose host may have none of the ranks."""
    daemons = {one.ref for one in snapshot.processes if one.role is Role.LAUNCHER and snapshot.job.launcher == "mpi"}
    items = (item for sweep in snapshot.sweeps for item in sweep.items if item.process in daemons)
    return frozenset(one.inode for item in items if isinstance(item.record, Sockets) for one in item.record.sockets)


def _told(values: Mapping[str, str]) -> Iterator[str]:
    """The hosts that a rank was told when it was started: where all meet, and the lists of Slurm and Open MPI."""
    yield values.get("MASTER_ADDR", "")
    yield from orte.hosts(values.get("OMPI_MCA_orte_node_regex", ""), values.get("OMPI_MCA_orte_num_nodes", ""))
    yield from _slurm_nodes(values)


def taken_out(snapshot: Snapshot, known: Container[str]) -> Iterator[Gap]:
    """Nodes that a Slurm job was given and has no more, while ranks are missing: Slurm takes a dead node out of a job that
    was started with --no-kill (sbatch(1))."""
    if not elsewhere(snapshot):
        return
    for name in given(snapshot):
        if name not in known:
            detail = "it was a node of this job, and Slurm has taken it out: its slurmd did not answer for too long"
            yield Gap("host", Why.UNREACHABLE, detail, f"scontrol show node {name}", host=name)


def given(snapshot: Snapshot) -> tuple[str, ...]:
    """The nodes that Slurm gave the job at its start, as its tasks were told."""
    records = (item.record for sweep in snapshot.sweeps[:1] for item in sweep.items)
    return tuple(sorted({name for one in records if isinstance(one, Environ) for name in _slurm_nodes(one.values)}))


def _slurm_nodes(values: Mapping[str, str]) -> Iterator[str]:
    """The nodes that Slurm told a task; nothing where the list is damaged."""
    listed = values.get("SLURM_JOB_NODELIST") or values.get("SLURM_NODELIST")
    with contextlib.suppress(RankscopeError):
        yield from hostnames.expand_told(listed) if listed else ()


def asker(namespace: str) -> str:
    """Who knows all hosts of a job of PRRTE, from the name that its ranks bear; empty where that tells nobody."""
    host, pid = launched_by(namespace) or ("", 0)
    return f"its mpirun knows all of them: on {host}, rankscope diagnose mpi:{pid}" if hostnames.told(host) else ""


def _maker(snapshot: Snapshot) -> str:
    """Who knows all hosts, where the name of some rank tells it."""
    records = (item.record for sweep in snapshot.sweeps for item in sweep.items)
    names = {
        one.values["PMIX_NAMESPACE"] for one in records if isinstance(one, Environ) and "PMIX_NAMESPACE" in one.values
    }
    return next(filter(None, map(asker, sorted(names))), "")


def by_name(addresses: tuple[str, ...]) -> tuple[str, ...]:
    """Hosts by the names that this site gives them, where it does: ssh knows keys and settings by name (getent(1))."""
    if not addresses:
        return ()
    try:
        told = child.run(["getent", "hosts", *addresses], _NAMES_S)
    except OSError:
        return addresses
    lines = (line.split() for line in told.output.decode("utf-8", "replace").splitlines())
    names = {
        line[0]: line[1]
        for line in lines
        if len(line) > 1 and hostnames.told(line[1]) and not line[1].startswith(_HERE)
    }
    return tuple(dict.fromkeys(names.get(one, one) for one in addresses))


def _address(text: str) -> str:
    """The host part of ``10.1.2.3:29500`` or ``[fe80::1]:29500``; IPv4 in IPv6 clothes is IPv4."""
    address = text.rpartition(":")[0].strip("[]")
    return address[7:] if address.startswith("::ffff:") and "." in address else address


def follow(
    snapshot: Snapshot, plan: Plan, options: Options | None, progress: Progress, more: str = ""
) -> Iterator[Snapshot]:
    """The snapshot with a word on where its other ranks run; with ``options`` those hosts are asked as well. ``more`` says who
    knows them, where somebody does."""
    away = elsewhere(snapshot)
    if not away or not snapshot.complete:
        yield snapshot
        return
    more = more or _maker(snapshot)
    others = tuple(name for name in by_name(hosts(snapshot)) if name not in {host.name for host in snapshot.hosts})
    where = f" on other hosts: {', '.join(others[:16])}" if others else " on hosts that were not asked"
    hint = (
        "--follow-hosts asks them through ssh"
        if others and not more
        else more or "rankscope diagnose ssh:HOSTS   # with all hosts of the job"
    )
    word = Gap("other hosts", Why.SKIPPED, f"{ranks_phrase(away)} of this job {verb('run', len(away))}{where}", hint)
    if options is None or not others:
        yield dataclasses.replace(snapshot, gaps=(*snapshot.gaps, word))
        return
    from .gather import Remote, gather  # only where other hosts are asked

    names = ",".join([*(host.name for host in snapshot.hosts), *others])
    try:
        mine = {process.ref for process in snapshot.processes}
        joined = [
            one
            for one in gather(Remote("ssh", names, dataclasses.replace(options, follow=False)), plan, progress)
            if mine & {p.ref for p in one.processes}
        ]
    except RankscopeError as error:
        word = dataclasses.replace(word, why=Why.FAILED, detail=f"{word.detail}: {error.what}", hint="")
        joined = []
    yield from joined or [dataclasses.replace(snapshot, gaps=(*snapshot.gaps, word))]
