"""Ranks stand on the same line but in different iterations of the loop around it.

## What it means
All ranks wait in the same collective of the same loop, yet some have turned the loop once more or less than the others: an
uneven number of batches, a skipped step, a retried one. Their calls do not match, so nobody gets on.

## How it is recognised
The call paths are equal and old, and a counter of the job's own frames (a local, or a global of a script's top level) has the
same value on most ranks, and on the odd ones one that is an iteration or two away. Where its name does not show that it counts
iterations, or the values are further apart, this is *possible* at most: settings and shares of the data differ by right.

## What to do
Compare the number of batches per rank (`drop_last=True`, padding, `torch.distributed.algorithms.join.Join`), and look for
`continue`, `break` and caught exceptions in the loop.

## How to prevent it
Equal step counts by construction; agree on "is there more data" with a collective before each step.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ...analysis.case import Case
from ...analysis.counters import counters
from ...analysis.sites import Site, by_site
from ...model.diagnosis import Certainty, Finding, Kind, Reason
from ...model.patterns import regex
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import span
from .. import make_rule
from .._say import at


def check(case: Case) -> Iterator[Finding]:
    if case.collectives or not case.snapshot.live:
        return
    sites = by_site(case)
    if len(sites) != 1 or not sites[0].waiting or len(sites[0].ranks) < 3 or not case.stuck(sites[0].still_s):
        return
    found = _best(sites[0])
    if found is None:
        return
    culprits = RankSet(found.odd)
    said = ", ".join(f"{found.name} = {value} on rank {rank}" for rank, value in sorted(found.odd.items())[:4])
    where = "in" if not found.doubt else "perhaps in"
    yield Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.POSSIBLE if found.doubt else Certainty.LIKELY,
        title=f"{ranks_phrase(culprits)} {where} another iteration than the others at {at(sites[0].frame)}: "
              f"{said}, {found.common} elsewhere",
        ranks=culprits, processes=tuple(process for rank in culprits for process in case.of_rank(rank)),
        because=(Reason(f"all ranks stand in {sites[0].op} on the same line; {found.name} is {found.common} on most of them",
                        "locals"),
                 Reason(f"nobody has moved for {span(sites[0].still_s)}", "kernel")),
        against=(found.doubt,) if found.doubt else (),
        next=("rankscope stacks --locals --source",),
    )  # fmt: skip


@dataclass(frozen=True)
class _Counter:
    """A number that tells some ranks from the rest: its name, its common value, and who differs."""

    name: str
    common: int
    odd: dict[int, int]

    @property
    def apart(self) -> int:
        return max(abs(value - self.common) for value in self.odd.values())

    @property
    def doubt(self) -> str:
        """What speaks against its being a place in a loop."""
        if not counts_turns(self.name):
            return f"nothing shows that {self.name} counts iterations: a setting or a share of the data may differ by right"
        if self.apart > _NEAR:
            return f"ranks that wait for each other in each iteration do not come {self.apart} of them apart"
        return ""


# Who skips or repeats a turn is one or two away when the next call catches it; further apart are only those who meet seldom.
_NEAR, _FAR = 2, 100


def _best(site: Site) -> _Counter | None:
    """The counter that tells most surely, outermost first."""
    found = [one for one in _odd(site) if one.apart <= (_FAR if counts_turns(one.name) else _NEAR)]
    return min(found, key=lambda one: bool(one.doubt), default=None)


def _odd(site: Site) -> Iterator[_Counter]:
    """The numbers that have one value on most ranks and another on some, outermost first."""
    values: dict[tuple[str, str, str], dict[int, int]] = {}
    for standing in site.standings:
        for key, value in counters(standing).items():
            if standing.member.rank is not None:
                values.setdefault(key, {})[standing.member.rank] = value
    for key, by_rank in values.items():
        if len(by_rank) < len(site.ranks):
            continue
        (common, many), *rest = Counter(by_rank.values()).most_common()
        # A value that differs on every rank is an identity (rank, port, seed), not a position in a loop.
        if rest and many * 2 > len(by_rank):
            yield _Counter(key[2], common, {rank: value for rank, value in by_rank.items() if value != common})


# What programs call the number of the turn that a loop is in; in the plural it is how many turns there are.
_TURN = {
    "step", "iter", "iteration", "it", "i", "j", "epoch", "batch", "minibatch", "microbatch", "round", "turn", "tick", "cycle",
    "episode", "update", "rollout", "idx",
}  # fmt: skip
# Words beside it that make it a setting, a size or an identity.
_NO_TURN = regex(
    r"^(?:n|nr|num)_|(?:^|_)(?:max|min|total|size|len|length|every|per|interval|freq|frequency|start|begin|first|end|last|stop"
    r"|limit|world|rank|local|node|device|gpu|seed|port|dim|warmup|log|save|offset|stride|accum\w*)(?:_|$)"
)


def counts_turns(name: str) -> bool:
    """Whether a name is one of the number of a turn: ``step``, ``batch_idx``, ``globalStep``, but neither ``num_steps`` nor
    ``log_every``."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().strip("_")
    return not _NO_TURN.search(words) and any(word.rstrip("0123456789") in _TURN for word in words.split("_"))


RULE = make_rule(__name__, __doc__, "collective-missed-by-rank", 42, check)
