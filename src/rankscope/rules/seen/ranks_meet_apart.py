"""Ranks wait for each other in different places: each was given another file or port to meet at.

## What it means
`init_process_group(init_method="file://…")` meets in a file, `tcp://HOST:PORT` at a port. A name that each rank makes for itself
(the time, its pid, a random number, a port that was free just now) leads them apart: each waits for peers that wait elsewhere. A
file that an earlier run left behind still has that run's keys, with the same end.

## How it is recognised
The ranks stand in the meeting; the address that each was given is read from its call, and they differ. Where all ranks of the job
ask one and the same file for longer than `--stuck-after`, it is perhaps an old one, or one that each host has for itself.

## What to do
Give all ranks the same address: from the launcher (`env://`), or from rank 0. Delete the file before a run, or name it after the
job's number (`$SLURM_JOB_ID`); it must lie on a file system that all hosts share.

## How to prevent it
`torchrun` and `env://`. See https://docs.pytorch.org/docs/stable/distributed.html#shared-file-system-initialization
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from ...analysis.case import Case
from ...analysis.meeting_points import all_meet_in_files, meeting_point
from ...analysis.standing import Standing
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import span
from .. import make_rule

_STEPS = ("init_process_group(init_method='env://')   # or one file for all, with the job's number in its name",)


def check(case: Case) -> Iterator[Finding]:
    waiting = {rank: one for rank, member in case.by_rank.items()
               if (one := case.standings.get(member.ref)) is not None and meeting_point(one)}  # fmt: skip
    ages = [one.still_s for one in waiting.values() if one.still_s is not None]
    if not case.snapshot.live or not ages or not case.stuck(max(ages)):
        return
    since = Reason(f"they have waited there for {span(max(ages))}", "python-stack")
    if len(set(map(_place, waiting.values()))) > 1:
        yield _apart(case, waiting, since)
    elif len(all_meet_in_files(case.standings.values())) == case.world_size and len(ages) == len(waiting):
        first = next(iter(waiting.values()))
        address = meeting_point(first)
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.POSSIBLE,
            title=f"all ranks wait for each other in {address}: an earlier run may have left it, or each host has its own",
            ranks=RankSet(), processes=tuple(one.member.process for one in waiting.values())[:16], because=(since,),
            next=(Step(f"rm {address.removeprefix('file://')}", first.member.ref, "and start again"), *_STEPS),
        )  # fmt: skip


def _apart(case: Case, waiting: Mapping[int, Standing], since: Reason) -> Finding:
    places = Counter(map(_place, waiting.values()))
    (usual, most), (_, next_most) = places.most_common(2)
    odd = RankSet(rank for rank, one in waiting.items() if _place(one) != usual) if most > next_most else RankSet()
    whom = ranks_phrase(odd) if odd else ranks_phrase(RankSet(waiting))
    others = " than the others" if odd else " each"
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
        title=f"{whom} {'meets' if len(odd) == 1 else 'meet'} in another place{others}", ranks=odd,
        processes=tuple(process for rank in odd or RankSet(waiting) for process in case.of_rank(rank))[:16],
        because=(*(Reason(f"rank {rank} was given {meeting_point(one)}", "memory", one.member.ref)
                   for rank, one in _one_each(waiting)), since),
        next=_STEPS,
    )  # fmt: skip


def _one_each(waiting: Mapping[int, Standing]) -> Iterator[tuple[int, Standing]]:
    """One rank of each place, at most four."""
    seen: set[str] = set()
    for rank, one in sorted(waiting.items()):
        if _place(one) not in seen and len(seen) < 4:
            seen.add(_place(one))
            yield rank, one


def _place(standing: Standing) -> str:
    """What tells two places apart: a file, or a port; the same host may be called by many names."""
    address = meeting_point(standing)
    return address if address.startswith("file:") else address.rpartition(":")[2]


RULE = make_rule(__name__, __doc__, "rendezvous-port", 53, check)
