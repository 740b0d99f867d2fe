"""A host of the job does not answer or has lost its processes, and its ranks are what the others wait for.

## What it means
Every rank that could be looked at waits for ranks of a host that is silent: switched off, crashed, cut off from the network,
or so busy that it does not even accept a login. A host that loses power closes no connection, so its peers learn nothing and
wait for as long as they are allowed to.

## How it is recognised
Asking the host brought no answer (the reason is shown), while the recorders or stacks of the others say that nobody else holds
them up. A host that refuses the login, or has no Python for us, is alive: then only its ranks are named, and what they do is
unknown. A host that answers and has no process of the job any more has restarted, or its processes were ended. Without
recorders the ranks of a host are told by the order of host names, and the report says so.

## What to do
Look at the host by another way: its console or management controller, `ping`, the switch, `scontrol show node`. When it is
gone, end the job and start again without it. When it is alive, run `rankscope diagnose` on it.

## How to prevent it
Health checks before the start (Slurm's `HealthCheckProgram`), shorter time-outs of the process group, TCP keepalive.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...analysis.away import Away, away
from ...analysis.case import Case, Root
from ...analysis.scene import is_absent
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.ranks import RankSet, ranks_phrase
from .. import make_rule
from .._say import waited_for


def check(case: Case) -> Iterator[Finding]:
    silent = away(case.snapshot, case.world_size) if case.snapshot.live else ()
    for sort in _SORTS:
        hosts = [host for host in silent if _sort(host) is sort]
        if hosts:
            yield _finding(case, hosts, sort, _waited(case, hosts, silent))


@dataclass(frozen=True)
class _Sort:
    """A way of not being seen: the class it points to, and the words for one host and for several."""

    cls: str
    one: str
    many: str
    against: str = ""


_DARK = _Sort("network-blackhole", "does not answer", "do not answer")
_EMPTY = _Sort("dead-rank", "has no process of this job", "have no process of this job")
_CLOSED = _Sort("collective-missed-by-rank", "could not be looked at", "could not be looked at",
                "the host is alive; what its ranks do was not seen")  # fmt: skip
_SORTS = (_DARK, _EMPTY, _CLOSED)


def _sort(host: Away) -> _Sort:
    return _DARK if host.dark else _EMPTY if host.empty else _CLOSED


def _waited(case: Case, hosts: list[Away], silent: tuple[Away, ...]) -> list[Root]:
    """Where chains of waiting end in one of these hosts, or in a rank that can only run on one of them."""
    refs = {host.ref for host in hosts}
    theirs = RankSet(rank for host in hosts for rank in host.ranks)
    told = RankSet(rank for host in silent for rank in host.ranks)
    # A rank that no host is known to hold may run on any of those of which nothing is known.
    open_ = (
        RankSet(range(case.world_size or 0)) - case.ranks - told if not all(host.ranks for host in hosts) else RankSet()
    )
    return [
        root
        for root in case.graph.roots
        if root.ref in refs or (is_absent(root.ref) and (root.ref.pid in theirs or root.ref.pid in open_))
    ]


def _finding(case: Case, hosts: list[Away], sort: _Sort, roots: list[Root]) -> Finding:
    names = ", ".join(host.host for host in hosts[:8]) + (f" and {len(hosts) - 8} more" if len(hosts) > 8 else "")
    ranks = RankSet(rank for host in hosts for rank in host.ranks)
    whose = ranks or RankSet(root.ref.pid for root in roots if is_absent(root.ref))
    stuck = [root for root in roots if root.age_s is None or case.stuck(root.age_s)]
    belong = f"; {ranks_phrase(whose)} {'belongs' if len(whose) == 1 else 'belong'} there" if whose else ""
    held = ", and nobody else holds the job up" if stuck else ""
    return Finding(
        rule=RULE.id, cls=sort.cls, kind=Kind.CAUSE if stuck else Kind.NOTE, certainty=_certainty(case, stuck, sort),
        title=f"{names} {sort.one if len(hosts) == 1 else sort.many}{belong}{held}", ranks=whose if stuck else RankSet(),
        because=(*map(_silence, hosts[:8]), *(waited_for(stuck[0]) if stuck else ())), against=tuple(_against(hosts, sort)),
        next=_steps([host.host for host in hosts], sort),
    )  # fmt: skip


def _steps(names: list[str], sort: _Sort) -> tuple[Step | str, ...]:
    host, all_ = names[0], ",".join(names[:16])
    if sort is _EMPTY:
        return (f"ssh {host} 'uptime; dmesg -T | tail'",)
    if sort is _CLOSED:
        return (
            f"rankscope doctor ssh:{all_}   # at which step the way there ends; or rankscope diagnose on its console",
        )
    return (Step(f"ping -c 3 {host}"), f"rankscope diagnose ssh:{all_} --deadline 60")


def _certainty(case: Case, roots: list[Root], sort: _Sort) -> Certainty:
    """Never certain: what the ranks over there do, nobody has seen."""
    named = any(is_absent(root.ref) for root in roots)
    old = any(case.stuck(root.age_s) for root in roots)
    return Certainty.LIKELY if old and (sort is _DARK or named) else Certainty.POSSIBLE


def _silence(host: Away) -> Reason:
    return Reason(f"{host.host}: {host.gap.detail}", "host")


def _against(hosts: list[Away], sort: _Sort) -> Iterator[str]:
    if any(host.ranks and not host.sure for host in hosts):
        yield "which ranks belong there was told by the order of the host names"
    if sort.against:
        yield sort.against


RULE = make_rule(__name__, __doc__, "network-blackhole", 8, check)
