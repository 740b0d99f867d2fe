"""Ranks that an elastic agent starts again and again, because they fail soon after they began."""

from __future__ import annotations

from dataclasses import dataclass

from ..model.evidence.threads import Threads
from ..model.process import Role
from .case import Case, Member
from .remembered import remembered

_OFTEN = 3  # one node that is lost restarts a job once
_LONG_S = 900.0  # an attempt that lasts so long does some work, or is ended by something else than its own mistake
_TWICE = 2  # ranks that live longer than attempts do have got over it


@dataclass(frozen=True)
class Restarts:
    """How often the agent has started its ranks anew, in how many seconds, and the age of those that run now."""

    agent: Member
    count: int
    in_s: float
    age_s: float


@remembered
def restarts(case: Case) -> Restarts | None:
    """The restarts of a live job of torchrun whose ranks never last."""
    ranks = case.with_role(Role.RANK) if case.snapshot.live else ()
    count = max((rank.process.attempt or 0 for rank in ranks), default=0)
    for rank in ranks if count >= _OFTEN else ():
        agent = case.by_pid.get((rank.ref.host, rank.process.parent))
        since = _age_s(agent) if agent is not None and agent.role is Role.LAUNCHER else None
        age = 0.0 if rank.gone and rank.latest(Threads) is None else _age_s(rank)
        if rank.process.attempt != count or agent is None or since is None or age is None:
            continue
        each = since / (count + 1)
        if each < _LONG_S and age < _TWICE * each:
            return Restarts(agent, count, since, age)
    return None


def _age_s(member: Member) -> float | None:
    kernel = member.latest(Threads)
    return kernel.uptime_s if kernel is not None else None
