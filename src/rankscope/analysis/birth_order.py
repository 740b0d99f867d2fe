"""Ranks that nothing numbers, where no stack may be read: the children of one parent, in the order in which it started them.

``torch.multiprocessing.spawn`` and loops over ``Process`` start rank 0 first and put no number into the environment. That the
children are ranks show the threads of a process group, or connections between them; workers of a pool have neither.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict

from ..model.diagnosis import Certainty, Finding
from ..model.evidence.environ_now import EnvironNow
from ..model.evidence.sockets import Socket, Sockets
from ..model.evidence.stacks import PythonStacks
from ..model.evidence.threads import Threads
from ..model.process import Role
from ..model.ranks import RankSet, ranks_phrase
from .awaited import hidden, is_python
from .case import Case, Member
from .remembered import remembered

_GUESSED = (
    "nothing that may be read here numbers the ranks: they are counted in the order in which their parent started them"
)
_LEFT = "the number of {} could not be read: it is what was left among the processes started beside"
_GROUP_THREADS = ("pt_gloo_runloop", "pt_nccl_watchdg")


def numbered(members: tuple[Member, ...]) -> tuple[Member, ...]:
    """The members, with ranks for the one family of children that takes part in process groups."""
    if any(member.role is Role.RANK for member in members):
        return members
    families: dict[tuple[str, int], list[Member]] = defaultdict(list)
    for member in members:
        unread = member.latest(PythonStacks) is None and is_python(member.process)
        if member.role is Role.OTHER and (member.dead or unread):
            families[member.ref.host, member.process.parent].append(member)
    found = [family for family in families.values() if _ranks(family)]
    if len(found) != 1:
        return members
    born = sorted(found[0], key=lambda member: (member.ref.started, member.ref.pid))
    ranks = {member.ref: number for number, member in enumerate(born)}
    return tuple(_with_rank(member, ranks.get(member.ref), len(ranks)) for member in members)


@remembered
def by_birth(case: Case) -> RankSet:
    """The ranks of a case that have their numbers from their births alone, where some of them live."""
    given = {process.ref for process in case.snapshot.processes if process.rank is not None}
    unread = [member for member in case.with_role(Role.RANK) if member.ref not in given and not _told(member)]
    return (
        RankSet(one.rank for one in unread if one.rank is not None)
        if any(not one.dead for one in unread)
        else RankSet()
    )


def _told(member: Member) -> bool:
    """Whether its stack or its environment may have told its number."""
    return member.latest(PythonStacks) is not None or member.latest(EnvironNow) is not None


def humbly(case: Case, finding: Finding) -> Finding:
    """A finding about ranks whose numbers are a guess: likely at most, and it says so."""
    guessed = by_birth(case) if case.snapshot.live else RankSet()
    if not finding.ranks & guessed:
        return finding
    sure = Certainty.LIKELY if finding.certainty is Certainty.CERTAIN else finding.certainty
    why = _GUESSED if guessed == RankSet(case.by_rank) else _LEFT.format(ranks_phrase(guessed))
    return dataclasses.replace(finding, certainty=sure, against=(*finding.against, why))


def _ranks(family: list[Member]) -> bool:
    """Whether all that live take part in a process group, or talk to each other."""
    living = [member for member in family if not member.dead]
    return len(living) > 1 and any(map(hidden, living)) and (all(map(_in_group, living)) or _connected(living))


def _in_group(member: Member) -> bool:
    kernel = member.latest(Threads)
    return kernel is not None and any(task.comm in _GROUP_THREADS for task in kernel.threads)


def _connected(living: list[Member]) -> bool:
    """Whether each has a TCP connection to another of them."""
    inodes = [{one.inode for one in _tcp(member)} for member in living]
    peers = [{one.peer_inode for one in _tcp(member)} - {0} for member in living]
    return all(
        any(mine & theirs for other, theirs in enumerate(inodes) if other != number)
        for number, mine in enumerate(peers)
    )


def _tcp(member: Member) -> list[Socket]:
    found = member.latest(Sockets)
    return [one for one in found.sockets if one.kind == "tcp"] if found else []


def _with_rank(member: Member, rank: int | None, world: int) -> Member:
    if rank is None:
        return member
    return dataclasses.replace(
        member, process=dataclasses.replace(member.process, role=Role.RANK, rank=rank, world_size=world)
    )
