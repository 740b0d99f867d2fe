"""Findings from signs and sentences, and rules that are nothing but their signs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from ...analysis.accounts import Account, evidence_of, says
from ...analysis.case import Case
from ...model.diagnosis import Certainty, Finding, Kind, Reason
from ...model.process import Process
from ...model.ranks import RankSet
from .. import Rule, make_rule
from ._signs import CERTAIN, LIKELY, POSSIBLE, Hit, Sign, hits

# What lies below the program: who reports it is not at fault.
_BELOW = {
    "ib-transport-error", "network-blackhole", "p2p-iommu-hardware", "store-timeout", "rendezvous-port", "wrong-interface",
    "version-bug", "driver-not-ready", "shm-exhausted", "stuck-below-program", "collective-cycle",
}  # fmt: skip
_RANKING = {CERTAIN: 0, LIKELY: 1, POSSIBLE: 2}


def finding(
    rule: Rule, case: Case, found: list[Hit], title: str, next_steps: tuple[str, ...], against: tuple[str, ...] = ()
) -> Finding:
    """One cause from all signs of a rule."""
    found = sorted(found, key=lambda hit: _RANKING[hit.sign.certainty])
    best = found[0].sign.certainty
    strong = [hit for hit in found if hit.sign.certainty is best]
    ranks, processes = RankSet(), dict[Process, None]()
    for hit in strong:
        if hit.sign.speaker and rule.cls not in _BELOW:
            ranks = ranks | hit.account.ranks | ranks_said(hit.account, hit.sign.pattern)
            processes.update(dict.fromkeys(members(case, hit.account)))
    if case.snapshot.live and not ranks and rule.cls not in _BELOW:
        ranks = RankSet(case.ranks) - RankSet(case.by_rank)  # a log of the job speaks of those that ended, if any did
    return Finding(
        rule=rule.id, cls=rule.cls, kind=Kind.CAUSE, certainty=best, title=title, ranks=ranks,
        processes=tuple(processes)[:16], because=tuple(reasons(found))[:6], against=against, next=next_steps,
    )  # fmt: skip


def members(case: Case, account: Account) -> list[Process]:
    """The processes a subject stands for."""
    return [case.by_ref[ref].process for ref in account.refs[:64] if ref in case.by_ref]


def ranks_said(account: Account, pattern: str) -> RankSet:
    """The ranks whose own lines show a sign, when the subject is a console of many."""
    return RankSet(
        event.rank for event in account.events if event.rank is not None and says(pattern, evidence_of(event.text))
    )


def reasons(found: Iterable[Hit]) -> Iterator[Reason]:
    """Why, each once, with the line it rests on; of several signs in one line the first."""
    told: set[str] = set()
    for hit in found:
        if hit.sign.says in told or (hit.line and hit.line in told):
            continue
        told |= {hit.sign.says, hit.line}
        yield Reason(f"{hit.sign.says}: {hit.line[:200]}" if hit.line else hit.sign.says, hit.account.label[:80])


def text_rule(
    module: str, page: str | None, cls: str, order: int, title: str, signs: tuple[Sign, ...], steps: tuple[str, ...],
    live_stacks: bool = False,
) -> Rule:  # fmt: skip
    """A rule that is nothing but its signs."""

    def check(case: Case) -> Iterator[Finding]:
        found = list(hits(case, signs, live_stacks))
        if found:
            yield finding(rule, case, found, title, steps)

    rule = make_rule(module, page, cls, order, check)
    return rule


def simple(
    rule: Rule, title: str, certainty: Certainty, because: Iterable[str], steps: tuple[str, ...] = (),
    ranks: RankSet | None = None, kind: Kind = Kind.CAUSE, against: tuple[str, ...] = (), source: str = "text",
    processes: Iterable[Process] = (),
) -> Finding:  # fmt: skip
    """A finding from plain sentences."""
    return Finding(
        rule=rule.id, cls=rule.cls, kind=kind, certainty=certainty, title=title, ranks=ranks or RankSet(),
        processes=tuple(processes)[:16], because=tuple(Reason(text[:300], source) for text in because), against=against,
        next=steps,
    )  # fmt: skip


@dataclass(frozen=True)
class Fact:
    """A sentence that some lines bear out, and whom it blames."""

    title: str
    because: tuple[str, ...]
    certainty: Certainty = LIKELY
    ranks: RankSet = field(default_factory=RankSet)
    against: tuple[str, ...] = ()
    compared: bool = False


def of_fact(rule: Rule, fact: Fact, steps: tuple[str, ...]) -> Finding:
    """The finding that a rule makes of a fact."""
    made = simple(rule, fact.title, fact.certainty, fact.because, steps, fact.ranks, against=fact.against)
    return replace(made, compared=fact.compared)
