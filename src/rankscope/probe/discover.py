"""Which jobs run on this host, and who is who in them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from ..model.gap import Gap, Why
from ..model.process import Process, ProcessRef, Role
from ..model.snapshot import Job
from ..model.words import counted
from .launcher import Claim, launchers, number, with_descendants
from .meeting import meeting
from .redact import redact
from .table import Seen, Table

ALONE = "none"  # the launcher of a program that belongs to no job
_HINTS = {Why.DENIED: "run as the job's user or root"}
_FORK_SERVER = "multiprocessing.forkserver"
_HELPERS = (
    "multiprocessing.resource_tracker",
    "multiprocessing.semaphore_tracker",
    "loky.backend.resource_tracker",
    _FORK_SERVER,
)


@dataclass(frozen=True)
class Found:
    """A job on this host: its processes, and the local ranks that should be here and are not."""

    job: Job
    processes: tuple[Process, ...]
    gaps: tuple[Gap, ...] = ()


def jobs(table: Table) -> tuple[Found, ...]:
    """Every distributed Python job among the processes of a host."""
    return tuple(_found(table, claim) for claim in _claims(table))


def with_gaps(table: Table, found: tuple[Found, ...]) -> tuple[Found, ...]:
    """The jobs, each with what the list of processes did not tell and may be about it: not about members of any job, who are
    known as such, and not about programs that are no Python."""
    told = {gap: gap.process.pid for gap in table.gaps if gap.process is not None}
    members = {pid for claim in _claims(table) for pid in claim.members} if told else set()
    gaps = [gap for gap in table.gaps if gap not in told or _may_be_a_rank(table, told[gap], members)]
    return tuple(replace(one, gaps=(*one.gaps, *gaps)) for one in found)


def closed(table: Table) -> tuple[Gap, ...]:
    """What may be a job, and cannot be known for one: Python programs of other users, and those that did not answer."""
    refused = sum(seen.python and seen.environ is None and seen.missing is Why.DENIED for seen in table.seen.values())
    silent = sum(seen.python and seen.silent for seen in table.seen.values())
    found = []
    if refused:
        detail = f"{counted(refused, 'Python process')} of other users could not be looked at"
        found.append(Gap("environ", Why.DENIED, detail, "as the job's user, or --sudo"))
    if silent:
        found.append(Gap("environ", Why.BLOCKED, f"{counted(silent, 'Python process')} did not answer"))
    return tuple(found)


def _may_be_a_rank(table: Table, pid: int, members: Collection[int]) -> bool:
    """Whether a process that did not answer may belong to a job without anybody knowing."""
    seen = table.seen.get(pid)
    return pid not in members and (seen is None or seen.executable is None or seen.python)


def job_of(table: Table, pid: int) -> Found | None:
    """The job a process belongs to: as launcher, as member, or as the shell or script that started it.

    A Python program of no job is looked at alone, with its descendants. None: no such process, or nothing of Python in
    or below it (process 1 has everything below it: more than one job there is no answer).
    """
    if pid not in table.seen:
        return None
    below = {seen.pid for seen in table.below(pid)}
    inside = []
    for claim in _claims(table):
        if pid == claim.root or pid in claim.members:
            return _found(table, claim)
        if below & {claim.root, *claim.members}:
            inside.append(claim)
    if len(inside) == 1:
        return _found(table, inside[0])
    if table.seen[pid].python or _was_python(table.seen[pid]):
        return alone(table, pid)
    # A start script whose programs do not let us see which ranks they are: all of them together.
    hidden = [seen for seen in table.below(pid) if seen.python and seen.environ is None and seen.state not in "ZX"]
    if not hidden or inside or pid == 1:
        return None
    return _found(table, Claim("plain", pid, {}, with_descendants(table, (pid,))))


def alone(table: Table, pid: int) -> Found:
    """A program by itself, with its descendants."""
    return _found(table, Claim(ALONE, pid, {}, with_descendants(table, (pid,))))


def between_attempts(found: Found) -> bool:
    """Whether it is an elastic agent alone, without ranks: it may be about to start them, once or once more."""
    return found.job.launcher == "torchrun" and not any(one.role is Role.RANK for one in found.processes)


def _was_python(seen: Seen) -> bool:
    """A zombie has neither program nor command line; its name is left."""
    return seen.state in "ZX" and seen.comm.startswith(("python", "pt_"))


def _claims(table: Table) -> Iterable[Claim]:
    free = frozenset(table.seen)
    for launcher in launchers():
        for claim in list(launcher.find(table, free)):
            whole = _with_silent(table, claim, free)
            free -= {*whole.members, whole.root}
            yield whole


def _with_silent(table: Table, claim: Claim, free: frozenset[int]) -> Claim:
    """The claim with the Python programs that were started beside its ranks and did not answer: each may be a rank."""
    families = {_family(table.seen[pid]) for pid in claim.ranks}
    silent = [pid for pid in free.difference(claim.members) if table.seen[pid].silent and table.seen[pid].python]
    beside = tuple(pid for pid in silent if _family(table.seen[pid]) in families)
    members = {*claim.members, *(free.intersection(with_descendants(table, beside)))}
    return replace(claim, members=tuple(sorted(members))) if beside else claim


def _family(seen: Seen) -> tuple[int, ...]:
    """What the ranks that one program started have in common; orphans of all kinds have one parent, but a session each."""
    return (seen.parent, seen.uid, seen.session if seen.parent == 1 else 0)


def _found(table: Table, claim: Claim) -> Found:
    root = table.seen.get(claim.root) if claim.root is not None else None
    processes = tuple(_process(table, claim, table.seen[pid]) for pid in claim.members if pid in table.seen)
    environs = [table.seen[pid].environ or {} for pid in claim.ranks]
    job = Job(
        claim.launcher, _ref(table, root) if root else None, claim.world_size, _name(table, claim), _expected(table, claim),
        meeting(environs, root.command if root else ()),
    )  # fmt: skip
    gaps = tuple(
        Gap("environ", seen.missing, seen.unreadable, _HINTS.get(seen.missing, ""), process=_ref(table, seen))
        for seen in (table.seen[pid] for pid in claim.members if pid in table.seen)
        if seen.missing and seen.state not in "ZX"
    )
    return Found(job, processes, gaps)


def _ref(table: Table, seen: Seen) -> ProcessRef:
    return ProcessRef(table.host, seen.pid, seen.started)


def _process(table: Table, claim: Claim, seen: Seen) -> Process:
    place = claim.ranks.get(seen.pid)
    owner = (
        next((above.pid for above in table.above(seen.pid) if above.pid in claim.ranks), None) if not place else None
    )
    served = claim.ranks.get(owner) if owner is not None else None
    return Process(
        ref=_ref(table, seen), role=_role(table, claim, seen), parent=_parent(table, seen), comm=seen.comm,
        command=redact(seen.command), executable=seen.executable, uid=seen.uid,
        rank=place.rank if place else (served.rank if served else None),
        local_rank=place.local_rank if place else None, world_size=place.world_size if place else None, owner=owner,
        attempt=number(seen.environ or {}, "TORCHELASTIC_RESTART_COUNT") if place else None,
    )  # fmt: skip


def _by_fork_server(table: Table, seen: Seen) -> bool:
    """Whether a fork server made this process on behalf of its own parent: it is a copy, with the same command line."""
    server = table.seen.get(seen.parent)
    return server is not None and server.command == seen.command and _FORK_SERVER in " ".join(seen.command)


def _parent(table: Table, seen: Seen) -> int:
    """Who asked for this process: not the fork server that made it."""
    return table.seen[seen.parent].parent if _by_fork_server(table, seen) else seen.parent


def _role(table: Table, claim: Claim, seen: Seen) -> Role:
    if seen.pid in claim.ranks:
        return Role.RANK
    if seen.pid == claim.root and claim.launcher != ALONE:
        return Role.LAUNCHER
    command = " ".join(seen.command)
    if seen.comm.startswith("pt_data_worker"):
        return Role.DATALOADER_WORKER
    if any(name in command for name in _HELPERS) and not _by_fork_server(table, seen):
        return Role.HELPER
    if "_inductor/compile_worker" in command or "_inductor.compile_worker" in command:
        return Role.COMPILE_WORKER
    return Role.OTHER


def _expected(table: Table, claim: Claim) -> str:
    """The ranks that should run on this host, folded: local ranks are numbered without holes from the node's first, and
    ranks that meet at an address that no other host can reach are all here."""
    for place in claim.ranks.values():
        if place.local_rank is not None and claim.local_world_size:
            first = place.rank - place.local_rank
            return f"{first}-{first + claim.local_world_size - 1}"
    places = {(table.seen[pid].environ or {}).get("MASTER_ADDR", "") for pid in claim.ranks}
    here = bool(places) and all(place == "localhost" or place.startswith(("127.", "::1")) for place in places)
    return f"0-{claim.world_size - 1}" if here and claim.world_size else ""


def _name(table: Table, claim: Claim) -> str:
    """What a user calls the job: the script of its ranks, else of its root."""
    for pid in (*claim.ranks, *((claim.root,) if claim.root is not None else ())):
        seen = table.seen.get(pid)
        for part in seen.command[1:] if seen else ():
            if part.endswith(".py"):
                return os.path.basename(part)
    root = table.seen.get(claim.root) if claim.root is not None else None
    return root.comm if root else claim.launcher
