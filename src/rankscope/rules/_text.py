"""Rules that rest on wordings and frames: a table of signs, and one finding from all of them that are there."""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from ..analysis.accounts import Account, Mention, accounts, compiled, evidence_of, outlived
from ..analysis.case import Case
from ..analysis.needles import possible
from ..analysis.remembered import remembered
from ..analysis.sayings import sayings
from ..analysis.trials import cured
from ..model.diagnosis import Certainty, Finding, Kind, Reason
from ..model.evidence.events import Event
from ..model.process import Process
from ..model.ranks import RankSet
from . import Rule

LIKELY, POSSIBLE, CERTAIN = Certainty.LIKELY, Certainty.POSSIBLE, Certainty.CERTAIN
# What lies below the program: who reports it is not at fault.
_BELOW = {
    "ib-transport-error", "network-blackhole", "p2p-iommu-hardware", "store-timeout", "rendezvous-port", "wrong-interface", "version-bug",
    "driver-not-ready", "shm-exhausted", "stuck-below-program", "collective-cycle",
}  # fmt: skip
# How people say that something does not go on.
HALTS = r"\b(?:hangs?|hanging|hung|stuck|freez\w+|froze\w*|deadlock\w*|stall\w*|block(?:s|ed|ing)\b|locks? up|lockups?|never (?:returns?|ends?|finish\w*|completes?|comes? back|gets? (?:past|through))|does(?:n't| not) (?:return|continue|go on|finish|complete|proceed|progress|respond|answer)|(?:no|without|nothing|any) (?:\w+ ){0,2}(?:progress|output|response|happens|sign of life)|stands? (?:still|there|at)\b|stays? (?:there|at)\b|times? out|timed out|time-?outs?|Watchdog caught|(?:after that|then|but) nothing\b|nothing (?:more|else|further)\b|unchanged for|waits? (?:for ?ever|indefinitely)|spins?\b|stops? (?:at|there|after|responding|moving|dead)|(?:does(?:n't| not)|no longer|not) mov(?:e|es|ing)\b|nothing (?:is )?(?:printed|logged)|(?:then|but) (?:there is )?silence|goes? silent|unresponsive|is (?:ever|never) (?:printed|reached|written|returned|called|shown))"
# Code that runs on one rank only: the condition, then the rest of its line or one of the next lines that are set deeper.
ONE_RANK = r"^(?P<at>[ \t+>|-]*)(?:el)?if (?:not )?[\w.()\[\]'\" ]*(?:(?:(?:world_|global_|local_)?rank|get_rank\(\)|RANK|process_index(?:\(\))?) ?== ?0|is_global_zero|is_(?:local_)?main_process(?:\(\))?|is_world_process_zero(?:\(\))?|is_master(?:\(\))?|is_rank_zero|is_rank_0\(\)|is_main\b|main_process\b|should_save\b)"
BELOW_IT = r"[^\n]*?:(?:[^\n]*|[^\n]*(?:\n(?P=at)[ \t]+[^\n]*){0,4}?\n(?P=at)[ \t]+[^\n]*)(?<!def )\b"
_TROUBLE = r"\b(?:crash\w*|abort\w*|unhealthy|fail(?:s|ed|ure)|errors?\b|illegal memory|segfault|killed|refused|timed out|timeouts?|waits?|for ?ever|bus error|problem|issue|trouble)\b"
# What is told as past.
OVER = re.compile(r"\b(?:took|waited)\b", re.I)
_INFO = re.compile(
    r"(?:\S+ ){0,5}\W?INFO\b(?!: task |.*(?:rror|fail|timed out|existing lock|acquire lock|been waiting))(?<!NCCL INFO)"
)
_RANKING = {CERTAIN: 0, LIKELY: 1, POSSIBLE: 2}


@dataclass(frozen=True)
class Sign:
    """One wording or frame that gives a mechanism away.

    ``pattern`` and all of ``also`` must be found in one subject, ``anywhere`` somewhere in the case, ``unless`` nowhere
    in it. ``speaker`` says that whoever shows the sign is at fault.
    """

    pattern: str
    says: str
    certainty: Certainty = LIKELY
    also: tuple[str, ...] = ()
    anywhere: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    speaker: bool = True
    prose: bool = False  # it is understood from stacks and from what people write, not from logs
    passing: bool = False  # it is over where its log goes on with steps
    until: str = ""  # what ends it, where the same log tells so later
    cures: bool = False  # it is a change that somebody made, and counts where it ended the trouble

    @property
    def passes(self) -> bool:
        """Whether it is over where its log goes on with steps: also what people write, and what may be a sign.

        A program's own error is not: stdout is buffered and stderr is not, so that steps come out after it which were
        made before.
        """
        return self.passing or self.prose or self.certainty is POSSIBLE


@dataclass(frozen=True)
class Hit:
    """A sign that is there, in whose account, and the line that shows it."""

    sign: Sign
    account: Account
    line: str


def hits(case: Case, signs: Iterable[Sign], live_stacks: bool = False) -> Iterator[Hit]:
    """Every sign that is there, once per subject; of a live job the stacks count only for rules that ask for them."""
    found = tuple(one for one in accounts(case) if live_stacks or not case.snapshot.live or not one.refs)
    there = _grams(case, found)
    for sign in signs if found else ():
        if not sign.cures and not possible(sign.pattern, there):
            continue  # of a thousand ranks none need be asked
        if (sign.cures and not troubled(case)) or all(_mention_of(one, sign) is None for one in found):
            continue  # first what is rarely there: a long log is searched for each pattern
        if any(one.find(pattern) for pattern in sign.unless for one in found):
            continue
        if not all(any(one.find(pattern) for one in found) for pattern in sign.anywhere):
            continue
        for one in found:
            said = _mention_of(one, sign)
            if said is None or routine(said.line) or not all(one.find(pattern) for pattern in sign.also):
                continue
            if not _over(case, one, sign) and not ended(one, sign):
                yield Hit(replace(sign, certainty=POSSIBLE) if said.doubted else sign, one, said.line)


def _grams(case: Case, asked: tuple[Account, ...]) -> frozenset[str]:
    """What the texts of some subjects are made of."""
    known = _known_grams(case)
    key = tuple(map(id, asked))
    if key not in known:
        known[key] = frozenset().union(*(one.grams for one in asked))
    return known[key]


@remembered
def _known_grams(case: Case) -> dict[tuple[int, ...], frozenset[str]]:
    """Those that were asked for, by the subjects."""
    return {}


def _mention_of(account: Account, sign: Sign) -> Mention | None:
    """The line in which one subject shows a sign."""
    if not sign.cures:
        return account.mention(sign.pattern, sign.prose)
    line = cured(account, compiled(sign.pattern))
    return Mention(line) if line else None


def _over(case: Case, account: Account, sign: Sign) -> bool:
    """Whether every line that shows a sign was followed by more steps, of an error by the clock."""
    said = [event for event in account.events if compiled(sign.pattern).search(event.text)]
    return bool(said) and all(outlived(case, event, by_clock=not sign.passes) for event in said)


def ended(account: Account, sign: Sign) -> bool:
    """Whether the same log tells later that what a sign shows has ended."""
    if not sign.until:
        return False
    last = {event.file: event.line for event in account.events if compiled(sign.pattern).search(event.text)}
    return bool(last) and last == {
        event.file: last[event.file]
        for event in account.events
        if event.line > last.get(event.file, event.line) and compiled(sign.until).search(event.text)
    }


def halted(case: Case) -> bool:
    """Whether the evidence is about something that does not go on: in words, or because somebody looked at stacks."""
    return any(account.stacks or account.find(HALTS + r"|\w \([^()\s]+\.pyx?:\d+\)") for account in accounts(case))


def troubled(case: Case) -> bool:
    """Whether the evidence is about any trouble at all."""
    return halted(case) or any(account.find(_TROUBLE) for account in accounts(case))


def routine(line: str) -> bool:
    """Whether a line only informs: a logger's INFO, but not NCCL's, which is all that NCCL says of its network."""
    return bool(_INFO.match(line))


def finding(
    rule: Rule, case: Case, found: list[Hit], title: str, next_steps: tuple[str, ...], against: tuple[str, ...] = ()
) -> Finding:
    """One cause from all signs of a rule."""
    best = min((hit.sign.certainty for hit in found), key=_RANKING.__getitem__)
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
    look = compiled(pattern)
    return RankSet(
        event.rank for event in account.events if event.rank is not None and look.search(evidence_of(event.text))
    )


def reasons(found: Iterable[Hit]) -> Iterator[Reason]:
    """Why, each once, with the line it rests on."""
    told: set[str] = set()
    for hit in found:
        if hit.sign.says in told:
            continue
        told.add(hit.sign.says)
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

    rule = Rule(id=rule_id(module), cls=cls, check=check, page=page or "", order=order)
    return rule


def rule_id(module: str) -> str:
    """A rule is called as its file is."""
    return module.rsplit(".", 1)[-1].replace("_", "-")


def make_rule(module: str, page: str | None, cls: str, order: int, check: Callable[[Case], Iterator[Finding]]) -> Rule:
    """A rule with a check of its own."""
    return Rule(id=rule_id(module), cls=cls, check=check, page=page or "", order=order)


def simple(
    rule: Rule, title: str, certainty: Certainty, because: Iterable[str], steps: tuple[str, ...] = (),
    ranks: RankSet | None = None, kind: Kind = Kind.CAUSE, against: tuple[str, ...] = (), source: str = "text",
    processes: Iterable[Process] = (),
) -> Finding:  # fmt: skip
    """A finding from plain sentences."""
    return Finding(
        rule=rule.id, cls=rule.cls, kind=kind, certainty=certainty, title=title, ranks=ranks or RankSet(),
        processes=tuple(processes)[:16], because=tuple(Reason(text[:300], source) for text in because), against=against, next=steps,
    )  # fmt: skip


def said_by_ranks(case: Case) -> Iterator[tuple[int, str, str]]:
    """What is said of one rank alone: the rank, the words, and the line in which they stand."""
    for account in accounts(case):
        for line in account.said.splitlines():
            for subject, words in sayings(line) or ((account.who, line),):
                if len(subject.ranks) == 1:
                    yield next(iter(subject.ranks)), words, line


def events(case: Case, *names: str) -> list[Event]:
    """The events of some names, in order."""
    return [event for event in case.events if event.event in names]
