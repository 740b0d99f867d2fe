"""A rank is gone and the others wait for it.

## What it means
A process that should take part in collectives has ended: killed, crashed, or left early. With gloo the peers usually see the
closed connection and fail; with NCCL, or when nobody ends them, they wait until a limit expires.

## How it is recognised
The launcher's numbers say which ranks should run here, or the size of the world does where all connections of the ranks stay
within this host; one has no living process (none at all, or a zombie), or it
disappeared between the two looks, while other ranks stand in a collective or wait for its key in the store. Where they all
still stand in the first meeting and nobody saw it die, it may as well never have been started: *rank-never-joined*. One that
ended well, or just left, is a cause only where the others have waited for it for long: a rank may have done its part. Where a
process did not answer when it was asked who it is, that may be the rank, and the finding is no longer certain.

## What to do
Look for its end: the first exception in its log, `dmesg` for "Out of memory" or "segfault", the exit code in the launcher's
report. Then end the rest of the job: it cannot recover.

## How to prevent it
A launcher that ends all ranks when one fails; no `TORCH_NCCL_ASYNC_ERROR_HANDLING=0`; shorter time-outs; core files per rank.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ...analysis.by_elimination import unread
from ...analysis.case import Case, Member, Root
from ...analysis.frame_tables import WaitKind
from ...analysis.scene import absent, is_absent
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.environ import Environ
from ...model.evidence.sockets import Sockets
from ...model.gap import Why
from ...model.process import Process, ProcessRef, Role
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import verb
from .. import make_rule
from .._death import ended, status
from .._say import is_old, waited_for

_NO_ANSWER = (Why.BLOCKED, Why.SKIPPED)


@dataclass(frozen=True)
class _Loss:
    """Ranks that are gone: what is left of them, what waits for them, and whether the job had begun."""

    gone: RankSet
    bodies: tuple[Process, ...]
    roots: tuple[Root, ...]
    begun: bool
    unsure: bool  # nobody is seen to wait for the bodies for long
    silent: str


def check(case: Case) -> Iterator[Finding]:
    if not case.snapshot.live or all(member.dead for member in case.with_role(Role.RANK)):
        return
    if (loss := _loss(case)) is not None:
        yield Finding(
            rule=RULE.id, cls=RULE.cls if loss.begun else "rank-never-joined", kind=Kind.CAUSE,
            certainty=_certainty(case, loss), title=_title(loss.gone, loss.begun, bool(loss.silent)),
            ranks=loss.gone, processes=loss.bodies,
            because=(*_seen(case, loss.bodies), *(waited_for(loss.roots[0]) if loss.roots else ())),
            against=tuple(_doubts(loss)), next=_look_next(case, loss.gone, loss.bodies, loss.begun),
        )  # fmt: skip


def _loss(case: Case) -> _Loss | None:
    dead = tuple(_dead(case))
    refs = {member.ref for member in dead}
    roots = tuple(root for root in case.graph.roots if is_absent(root.ref) or root.ref in refs)
    blamed = _blamed(case, dead, roots)
    unsure = not blamed and _all_wait_for_others(case)
    bodies = tuple(member.process for member in (dead if unsure else blamed))
    left = RankSet(body.rank for body in bodies if body.role is Role.RANK and body.rank is not None)
    gone = RankSet(case.ranks) - RankSet(case.by_rank) | left
    if not gone or (not bodies and not _missed(case, roots)):
        return None  # it may have done its part, or be about to start
    begun = bool(bodies) or not roots or not all(_meets(case, root) for root in roots)
    if not begun and _stranger_answers(case):
        return None  # who should have opened the meeting point could not: it belongs to another program
    silent = _silent(case) if len(bodies) < len(gone) else ""
    return _Loss(gone, bodies, roots, begun, unsure and bool(bodies), silent)


def _blamed(case: Case, dead: tuple[Member, ...], roots: tuple[Root, ...]) -> tuple[Member, ...]:
    """Those of the dead who ended badly, or for whom others have waited for long."""
    missed = {root.ref for root in roots if root.waiters and case.stuck(root.age_s)}
    return tuple(member for member in dead if status(member) or not missed.isdisjoint(_names(case, member, missed)))


def _certainty(case: Case, loss: _Loss) -> Certainty:
    if loss.unsure or (loss.silent and _own_silent(case)):
        return Certainty.POSSIBLE
    return Certainty.CERTAIN if loss.roots and loss.begun and not loss.silent else Certainty.LIKELY


def _doubts(loss: _Loss) -> Iterator[str]:
    if loss.unsure:
        yield "it may have ended as it should: nobody is seen to wait for it for long"
    if loss.silent:
        yield loss.silent


def _look_next(case: Case, gone: RankSet, bodies: tuple[Process, ...], begun: bool) -> tuple[Step | str, ...]:
    """Where nobody starts ranks for the job, one that never came was perhaps never started."""
    start = f"start {ranks_phrase(gone)} as well: same MASTER_ADDR, MASTER_PORT and WORLD_SIZE, RANK={next(iter(gone))}"
    never = not begun and not bodies and not _starts_all(case)
    log = "look for the first exception in this rank's log" + (", if it was ever started" if never else "")
    return (*([start] if never else []), _kernel_log(case, gone, bodies), log)


def _starts_all(case: Case) -> bool:
    """Whether a launcher that counts its ranks has started them; a script gives each its number, and may leave one out."""
    return bool(case.with_role(Role.LAUNCHER)) and case.snapshot.job.launcher not in _SCRIPTS


_SCRIPTS = ("environment", "none")


def _kernel_log(case: Case, gone: RankSet, bodies: tuple[Process, ...]) -> Step | str:
    """On the host of a body; of a rank without one, where the ranks next to it run, if those run on one host."""
    ask = "dmesg -T | grep -iE 'out of memory|oom|segfault' | tail"
    if bodies:
        return Step(ask, bodies[0].ref)
    first = next(iter(gone))
    below = max((rank for rank in case.by_rank if rank < first), default=None)
    above = min((rank for rank in case.by_rank if rank > first), default=None)
    hosts = {case.by_rank[rank].ref.host for rank in (below, above) if rank is not None}
    return Step(ask, ProcessRef(hosts.pop(), 0)) if len(hosts) == 1 else ask


def _silent(case: Case) -> str:
    """What speaks for ranks whose end nobody saw: processes that did not answer, of the job or of nobody known."""
    own = [member.ref for member in _own_silent(case)]
    others = [gap.process for gap in case.snapshot.gaps if gap.what == "process" and gap.why in _NO_ANSWER]
    if not own and not others:
        return ""
    pids = RankSet(ref.pid for ref in own or others if ref is not None)
    told = f" (pid{'s' if len(pids) > 1 else ''} {pids})" if pids else ""
    return f"processes did not answer when asked who they are{told}"


def _own_silent(case: Case) -> list[Member]:
    """Members of the job that may be any rank."""
    return [member for member in case.with_role(Role.OTHER) if member.rank is None and unread(member)]


def _dead(case: Case) -> Iterator[Member]:
    """Who has ended and is, or may be, a rank whose place nobody has taken since."""
    for member in case:
        again = case.by_rank.get(member.rank) if member.rank is not None else None
        if member.dead and (member.role is Role.OTHER or (member.role is Role.RANK and (again is None or again.dead))):
            yield member


def _names(case: Case, body: Member, missed: Collection[ProcessRef]) -> Iterator[ProcessRef]:
    """How the graph may call one that is dead: itself, or the stand-in for its rank. A sibling of ranks that has lost its
    number with its environment may be any of those that are missed."""
    yield body.ref
    if body.role is Role.RANK and body.rank is not None:
        yield absent(body.rank)
    elif body.rank is None and any(one.role is Role.RANK for one in case.siblings_of(body)):
        yield from filter(is_absent, missed)


# Where ranks stand that may wait for each other, although nothing tells for whom.
_FOR_OTHERS = {
    WaitKind.COLLECTIVE,
    WaitKind.P2P,
    WaitKind.RENDEZVOUS,
    WaitKind.STORE,
    WaitKind.BACKWARD,
    WaitKind.LOCK,
    WaitKind.CONDITION,
    WaitKind.QUEUE,
    WaitKind.PIPE,
    WaitKind.UNKNOWN,
}


def _all_wait_for_others(case: Case) -> bool:
    """Whether no living rank gets on, and each may wait for another one."""
    living = [case.standings[member.ref] for member in case.by_rank.values() if not member.dead]
    return all(
        one.kind in _FOR_OTHERS
        and not one.moved
        and not one.helped
        and (one.still_s is None or case.stuck(one.still_s))
        for one in living
    )


def _title(gone: RankSet, begun: bool, silent: bool) -> str:
    are, has = verb("are", len(gone)), verb("have", len(gone))
    if silent:
        return f"{ranks_phrase(gone)} {are} gone, or among the processes that did not answer"
    if begun:
        return f"{ranks_phrase(gone)} {are} gone: no living process"
    return f"{ranks_phrase(gone)} {has} not come to the meeting, and {has} no process here"


def _missed(case: Case, roots: tuple[Root, ...]) -> bool:
    """Whether somebody has lacked them for long: waits for them, or knocks at the meeting point since it was started."""
    if any(case.stuck(root.age_s) for root in roots):
        return True
    living = [case.standings[member.ref] for member in case.by_rank.values() if not member.dead]
    return any(_meets(case, root) for root in roots) and all(is_old(case, one.member) for one in living)


def _stranger_answers(case: Case) -> bool:
    """Whether ranks are connected at their meeting point although nobody of the job listens there."""
    environs = (member.latest(Environ) for member in case.by_rank.values())
    ports = {environ.values.get("MASTER_PORT", "") for environ in environs if environ} - {""}
    sockets = [
        one for member in case if (found := member.latest(Sockets)) for one in found.sockets if one.kind == "tcp"
    ]
    listen = {one.local.rpartition(":")[2] for one in sockets if one.state == "listen"}
    return any(one.state == "established" and one.peer.rpartition(":")[2] in ports - listen for one in sockets)


def _meets(case: Case, root: Root) -> bool:
    """Whether all who wait for it stand in the first meeting of the job: it never came, or came and went."""
    waiters = [case.standings[ref] for ref in root.waiters if ref in case.standings]
    return bool(waiters) and all(one.kind is WaitKind.RENDEZVOUS for one in waiters)


def _seen(case: Case, bodies: tuple[Process, ...]) -> Iterator[Reason]:
    for body in bodies:
        member = case.by_ref[body.ref]
        yield Reason(f"pid {body.ref.pid} on {body.ref.host} {ended(member)}", "kernel", body.ref)
    if not bodies:
        alive = RankSet(rank for rank, member in case.by_rank.items() if not member.dead)
        only = f"only {ranks_phrase(alive)} {verb('are', len(alive))} alive"
        yield Reason(f"{_promised(case)}; {only}", "processes")


def _promised(case: Case) -> str:
    if not case.snapshot.job.expected_ranks:
        return f"the job has ranks {case.ranks}, and its ranks are connected to nobody outside of this host"
    whole = "the launcher started" if _starts_all(case) else "by its environment the job has"
    return f"{whole} ranks {case.ranks}"


RULE = make_rule(__name__, __doc__, "dead-rank", 10, check)
