"""Ranks wait for each other in different places: each was given another file or port to meet at.

## What it means
`init_process_group(init_method="file://…")` meets in a file, `tcp://HOST:PORT` at a port. A name that each rank makes for itself
(the time, its pid, a random number, a port that was free just now) leads them apart: each waits for peers that wait elsewhere. So
does a `MASTER_PORT` that is overridden on one node, where another store listens. A file that an earlier run left behind still has
that run's keys, with the same end.

## How it is recognised
The ranks stand in the meeting; the address that each was given is read from its call, and they differ; or they wait for keys of
stores at different ports, over connections that these have accepted. Where all ranks of the job
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
from ...analysis.meeting_points import all_meet_in_files, asked_store, listens_at, meeting_point, port_of
from ...analysis.standing import Standing
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import span
from .. import make_rule

_ONE_STORE = (
    "find what sets MASTER_ADDR or MASTER_PORT there (a config file, an exported variable): all ranks need the same",
)
_STEPS = ("init_process_group(init_method='env://')   # or one file for all, with the job's number in its name",)


def check(case: Case) -> Iterator[Finding]:
    meeting = {
        rank: one for rank, member in case.by_rank.items() if (one := case.standings.get(member.ref)) is not None
    }
    waiting = {rank: one for rank, one in meeting.items() if meeting_point(one)}
    if not waiting:
        yield from _stores(case, meeting)
        return
    ages = [one.still_s for one in waiting.values() if one.still_s is not None]
    if not case.snapshot.live or not ages or not case.stuck(max(ages)):
        return
    since = Reason(f"they have waited there for {span(max(ages))}", "python-stack")
    if len(set(map(_place, waiting.values()))) > 1:
        told = {rank: f"was given {meeting_point(one)}" for rank, one in waiting.items()}
        yield _apart(case, {rank: _place(one) for rank, one in waiting.items()}, told, since, _STEPS)
    elif len(all_meet_in_files(case.standings.values())) == case.world_size and len(ages) == len(waiting):
        first = next(iter(waiting.values()))
        address = meeting_point(first)
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.POSSIBLE,
            title=f"all ranks wait for each other in {address}: an earlier run may have left it, or each host has its own",
            ranks=RankSet(), processes=tuple(one.member.process for one in waiting.values())[:16], because=(since,),
            next=(Step(f"rm {address.removeprefix('file://')}", first.member.ref, "and start again"), *_STEPS),
        )  # fmt: skip


def _stores(case: Case, meeting: Mapping[int, Standing]) -> Iterator[Finding]:
    """Ranks that wait for keys of different stores; of one that has a store and asks nothing, its port counts."""
    asked = {rank: address for rank, one in meeting.items() if (address := asked_store(one))}
    ages = [meeting[rank].still_s for rank in asked]
    if not case.snapshot.live or len(set(map(port_of, asked.values()))) < 2 or not all(map(case.stuck, ages)):
        return
    places = {rank: port_of(address) for rank, address in asked.items()}
    told = {rank: f"waits for a key of the store at {address}" for rank, address in asked.items()}
    for rank, one in meeting.items():
        for port in listens_at(one).intersection(places.values()) if rank not in asked else ():
            places[rank], told[rank] = port, f"has the store at port {port}"
    age = min(one for one in ages if one is not None)
    yield _apart(case, places, told, Reason(f"they have waited there for {span(age)}", "kernel"), _ONE_STORE)


def _apart(
    case: Case, place_of: Mapping[int, str], told: Mapping[int, str], since: Reason, steps: tuple[str, ...]
) -> Finding:
    places = Counter(place_of.values())
    (usual, most), (_, next_most) = places.most_common(2)
    odd = RankSet(rank for rank, one in place_of.items() if one != usual) if most > next_most else RankSet()
    whom = ranks_phrase(odd) if odd else ranks_phrase(RankSet(place_of))
    others = " than the others" if odd else " each"
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
        title=f"{whom} {'meets' if len(odd) == 1 else 'meet'} in another place{others}", ranks=odd,
        processes=tuple(process for rank in odd or RankSet(place_of) for process in case.of_rank(rank))[:16],
        because=(*(Reason(f"rank {rank} {told[rank]}", "memory", case.by_rank[rank].ref) for rank in _one_each(place_of)), since),
        next=steps,
    )  # fmt: skip


def _one_each(place_of: Mapping[int, str]) -> Iterator[int]:
    """One rank of each place, at most four."""
    seen: set[str] = set()
    for rank, place in sorted(place_of.items()):
        if place not in seen and len(seen) < 4:
            seen.add(place)
            yield rank


def _place(standing: Standing) -> str:
    """What tells two places apart: a file, or a port."""
    address = meeting_point(standing)
    return address if address.startswith("file:") else port_of(address)


RULE = make_rule(__name__, __doc__, "rendezvous-port", 53, check)
