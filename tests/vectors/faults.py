"""A job with a fault, and what an expert who knows the fault would answer."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from . import programs
from .machine import Call, Groups, Issued, Job, Program, Sync


@dataclass
class Expect:
    """The answers that are right; ``call`` is (group, number) of the call in question, None where it is a message."""

    hang: bool
    kinds: tuple[str, ...]
    culprits: tuple[tuple[int, ...], ...] = ((),)
    call: tuple[str, int, str] | None = None
    cycle: bool = False


@dataclass
class Scenario:
    title: str
    job: Job
    expect: Expect
    no_dump: set[int] = field(default_factory=set)


def world(rnd: random.Random) -> tuple[str, Groups, list[Program]]:
    """A job of one of several kinds."""
    kinds: list[tuple[str, Callable[[], tuple[Groups, list[Program]]]]] = [
        ("flat", lambda: programs.data_parallel(rnd.choice([4, 8, 8, 16, 64]), 8, rnd.random() < 0.5)),
        ("sharded", lambda: programs.sharded(rnd.choice([4, 8]), 1, 5)),
        ("hybrid-sharded", lambda: programs.sharded(rnd.choice([2, 4]), rnd.choice([2, 3, 4]), 5)),
        ("tp-dp", lambda: programs.mesh_of(rnd.choice([2, 4]), 1, rnd.choice([2, 3, 4]), 3)),
        ("tp-pp-dp", lambda: programs.mesh_of(2, rnd.choice([2, 4]), 2, 3, batched=rnd.random() < 0.6)),
        ("pp", lambda: programs.mesh_of(1, rnd.choice([2, 4, 8]), 1, 3, batched=rnd.random() < 0.5)),
        ("pp-dp", lambda: programs.mesh_of(1, 4, rnd.choice([2, 4]), 3, batched=rnd.random() < 0.5)),
        ("moe", lambda: programs.mesh_of(2, rnd.choice([1, 2]), rnd.choice([2, 4]), 3, experts=True)),
    ]
    kind, make = rnd.choice(kinds)
    groups, rows = make()
    return kind, groups, rows


def _calls(program: Program, first: int = 0) -> list[int]:
    return [at for at, step in enumerate(program) if isinstance(step, Call) and at >= first]


def _late(rnd: random.Random, program: Program, only: Callable[[Call], bool] = lambda call: True) -> int:
    """A step in the middle of the program."""
    places = [at for at in _calls(program, len(program) // 4) if only(program[at])][:-1]
    # Not within a batch, which begins and ends as one.
    places = [at for at in places if not (program[at].batch and isinstance(program[at - 1], Call)
              and program[at - 1].batch == program[at].batch)]  # fmt: skip
    return rnd.choice(places)


def awaited(job: Job, rank: int, first: int) -> Expect:
    """The first call of the rank's remaining program in which somebody waits for it."""
    seqs = {
        name: sum(one.call.group == name and one.call.peer is None for one in job.issued[rank]) for name in job.groups
    }
    nths: dict[object, int] = {}
    for one in job.issued[rank]:
        if one.call.peer is not None:
            key = (one.call.group, one.call.op, one.call.peer)
            nths[key] = nths.get(key, 0) + 1
    for step in job.programs[rank][first:]:
        if not isinstance(step, Call):
            continue
        if step.peer is None:
            seqs[step.group] += 1
            waiting = [one for other in job.groups[step.group][1] if other != rank for one in job.open(other)
                       if one.call.group == step.group and one.call.peer is None and one.seq == seqs[step.group]]  # fmt: skip
            if waiting:
                return Expect(True, ("missing_rank",), ((rank,),), (step.group, seqs[step.group], waiting[0].call.op))
        else:
            key = (step.group, step.op, step.peer)
            number, nths[key] = nths.get(key, 0), nths.get(key, 0) + 1
            other = job.groups[step.group][1][step.peer]
            me = job.groups[step.group][1].index(rank)
            if any(one.call.group == step.group and one.call.peer == me and one.call.op != step.op and one.nth == number
                   for one in job.open(other)):  # fmt: skip
                return Expect(True, ("p2p_unmatched", "missing_rank"), ((rank,),))
    return healthy()


def healthy() -> Expect:
    return Expect(False, ("no_hang",))


def stop(rnd: random.Random, window: int) -> Scenario:
    """One rank goes another way."""
    kind, groups, rows = world(rnd)
    rank = rnd.randrange(len(rows))
    at = _late(rnd, rows[rank])
    job = Job(groups, rows, window, stops={rank: at}).run()
    return Scenario(f"stop {kind}", job, awaited(job, rank, at))


def two_stop(rnd: random.Random, window: int) -> Scenario:
    """Two ranks stop at the same step; where one waits for the other first, only the other is to be named."""
    kind, groups, rows = world(rnd)
    one, other = rnd.sample(range(len(rows)), 2)
    at = _late(rnd, rows[one])
    job = Job(groups, rows, window, stops={one: at, other: at}).run()
    ends = [awaited(job, rank, at) for rank in (one, other) if job.reached[rank] == at and not job.open(rank)]
    told = tuple(sorted(rank for rank in (one, other)
                        if job.reached[rank] == at and not job.open(rank) and awaited(job, rank, at).hang))  # fmt: skip
    alive = [end for end in ends if end.hang]
    kinds = tuple({kind for end in alive for kind in end.kinds})
    return Scenario(f"two-stop {kind}", job, Expect(True, kinds, (told,)) if alive else healthy())


def finished(rnd: random.Random, window: int) -> Scenario:
    """Nothing is wrong."""
    kind, groups, rows = world(rnd)
    return Scenario(f"healthy {kind}", Job(groups, rows, window).run(), healthy())


def dead(rnd: random.Random, window: int) -> Scenario:
    """A rank stops and leaves no dump."""
    made = stop(rnd, window)
    (rank,) = made.job.stops
    if made.expect.hang:
        made.expect.kinds = ("no_evidence_rank", "missing_rank")
        made.no_dump = {rank}
    made.title = "dead " + made.title
    return made


def broken(rnd: random.Random, window: int) -> Scenario:
    """A collective that everybody issued and nobody finishes."""
    kind, groups, rows = world(rnd)
    rank = rnd.randrange(len(rows))
    healthy_job = Job(groups, rows, window).run()
    at = _late(rnd, rows[rank], lambda call: call.peer is None)
    one = next(one for one in healthy_job.issued[rank] if one.step == at)
    job = Job(groups, rows, window, broken={(one.call.group, one.seq)}).run()
    return Scenario(f"broken {kind}", job,
                    Expect(True, ("stuck_in_flight",), ((),), (one.call.group, one.seq, one.call.op)))  # fmt: skip


def device_dead(rnd: random.Random, window: int) -> Scenario:
    """One rank's device never ends a call that is over everywhere else; its host goes on issuing for a while."""
    kind, groups, rows = world(rnd)
    rank = rnd.randrange(len(rows))
    at = _late(rnd, rows[rank], lambda call: call.peer is None)
    job = Job(groups, rows, window, lost={rank: at}, dies={rank: at + 1}).run()
    one = next((one for one in job.issued[rank] if one.step == at), None)
    others = any(job.open(other) for other in range(len(rows)) if other != rank)
    if one is None or not others:  # nobody waits for it: a dump of an earlier moment looks the same
        return Scenario(f"device {kind}", job, healthy())
    return Scenario(f"device {kind}", job, Expect(True, ("missing_rank", "stuck_in_flight"), ((rank,),)))


def device_held(rnd: random.Random, window: int) -> Scenario:
    """One rank's device never begins a collective that the devices of all others have begun."""
    kind, groups, rows = world(rnd)
    rank = rnd.randrange(len(rows))
    at = _late(rnd, rows[rank], lambda call: call.peer is None)
    job = Job(groups, rows, window, dies={rank: at}).run()
    one = next((one for one in job.issued[rank] if one.step == at), None)
    if one is None or not job.open(rank):
        return Scenario(f"held {kind}", job, healthy())
    call = (one.call.group, one.seq, one.call.op)
    return Scenario(f"held {kind}", job, Expect(True, ("stuck_in_flight",), ((rank,), ()), call))


def changed(rnd: random.Random, window: int) -> Scenario:
    """One rank passes another size, type or operation to a collective."""
    kind, groups, rows = world(rnd)
    rank = rnd.randrange(len(rows))
    at = _late(rnd, rows[rank], lambda call: call.peer is None and call.op not in ("all_to_all", "barrier"))
    call = rows[rank][at]
    larger, out = (call.sizes[0] + 3, *call.sizes[1:]), call.out and (call.out[0] + 6, *call.out[1:])
    what, new = rnd.choice([
        ("size_mismatch", replace(call, sizes=larger, out=out)),
        ("dtype_mismatch", replace(call, dtype="Half")),
        ("collective_mismatch", replace(call, op="reduce_scatter" if call.op != "reduce_scatter" else "all_gather")),
    ])  # fmt: skip
    rows[rank] = [*rows[rank][:at], new, *rows[rank][at + 1 :]]
    job = Job(groups, rows, window).run()
    return Scenario(f"{what} {kind}", job, _odd_one(job, rank, at, (what,)))


def _odd_one(job: Job, rank: int, at: int, kinds: tuple[str, ...]) -> Expect:
    """What is to be seen: the first number of any of the rank's groups where it differs from the others and all hang."""
    group = job.programs[rank][at].group
    one = next((one for one in job.issued[rank] if one.step >= at and one.call.group == group and one.call.peer is None
                and not one.over and _peers_differ(job, one)), None)  # fmt: skip
    if one is None:
        return healthy() if all(not job.open(r) for r in range(len(job.programs))) else Expect(True, (), ((rank,),))
    members = job.groups[group][1]
    usual = next(other for other in _same(job, one) if other.call.fits != one.call.fits)
    both = tuple(sorted(members)) if len(members) == 2 else (rank,)
    return Expect(True, kinds, ((rank,), both), (group, one.seq, usual.call.op) if len(members) > 2 else None)


def _same(job: Job, one: Issued) -> list[Issued]:
    return [other for rank in job.groups[one.call.group][1] if rank != one.rank for other in job.issued[rank]
            if other.call.group == one.call.group and other.call.peer is None and other.seq == one.seq]  # fmt: skip


def _peers_differ(job: Job, one: Issued) -> bool:
    return any(other.call.fits != one.call.fits for other in _same(job, one))


_ORDER = ("collective_mismatch", "size_mismatch", "dtype_mismatch")


def skipped(rnd: random.Random, window: int) -> Scenario:
    """One rank leaves a collective out."""
    kind, groups, rows = world(rnd)
    rank = rnd.randrange(len(rows))
    at = _late(rnd, rows[rank], lambda call: call.peer is None)
    group = rows[rank][at].group
    job = Job(groups, [row if r != rank else [*row[:at], *row[at + 1 :]] for r, row in enumerate(rows)], window).run()
    return Scenario(f"skipped {kind}", job, _after_shift(job, rank, at, group))


def extra(rnd: random.Random, window: int) -> Scenario:
    """One rank issues a collective more."""
    kind, groups, rows = world(rnd)
    rank = rnd.randrange(len(rows))
    at = _late(rnd, rows[rank], lambda call: call.peer is None)
    group = rows[rank][at].group
    new = Call(group, "all_gather", (5,), (10,), site=("debug", "train.py", 99))
    job = Job(groups, [row if r != rank else [*row[:at], new, *row[at:]] for r, row in enumerate(rows)], window).run()
    return Scenario(f"extra {kind}", job, _after_shift(job, rank, at, group))


def swapped(rnd: random.Random, window: int) -> Scenario:
    """One rank makes two calls of a group in the opposite order."""
    kind, groups, rows = world(rnd)
    rank = rnd.randrange(len(rows))
    pairs = [(at, at + 1) for at in _calls(rows[rank], len(rows[rank]) // 4)[:-2]
             if isinstance(rows[rank][at + 1], Call) and rows[rank][at].peer is None is rows[rank][at + 1].peer
             and rows[rank][at].group == rows[rank][at + 1].group and rows[rank][at].fits != rows[rank][at + 1].fits]  # fmt: skip
    if not pairs:
        return swapped(rnd, window)
    one, other = rnd.choice(pairs)
    row = list(rows[rank])
    row[one], row[other] = row[other], row[one]
    job = Job(groups, [made if r != rank else row for r, made in enumerate(rows)], window).run()
    return Scenario(f"swapped {kind}", job, _odd_one(job, rank, one, _ORDER))


def _after_shift(job: Job, rank: int, at: int, group: str) -> Expect:
    """A call too few or too many: from there on the rank's calls meet other calls of its peers, until some clash."""
    if all(not job.open(r) for r in range(len(job.programs))):
        return healthy()
    one = next((one for one in job.issued[rank] if one.call.group == group and one.call.peer is None and not one.over
                and _peers_differ(job, one)), None)  # fmt: skip
    members = job.groups[group][1]
    both = tuple(sorted(members)) if len(members) == 2 else (rank,)
    if one is not None:
        usual = next(other for other in _same(job, one) if other.call.fits != one.call.fits)
        return Expect(True, _ORDER, ((rank,), both), (group, one.seq, usual.call.op) if len(members) > 2 else None)
    kinds = (
        "missing_rank",
        "collective_mismatch",
        "circular_wait",
        "p2p_unmatched",
        "size_mismatch",
    )  # the last: all_to_all
    return Expect(True, kinds, ((rank,), both, ()))


def crossed(rnd: random.Random, window: int) -> Scenario:
    """Groups entered in opposite orders: a true circle over two, three or four groups."""
    size = rnd.choice([2, 3, 4])
    ranks = size * 1
    groups: Groups = {"0": ("default_pg", tuple(range(ranks)))}
    for at in range(size):
        groups[str(at + 1)] = (f"mesh_{'abcd'[at]}", tuple(sorted({at % ranks, (at + 1) % ranks})))
    if size == 2:
        groups["2"] = ("mesh_b", (0, 1))
    rows: list[Program] = []
    for rank in range(ranks):
        mine = [name for name, (_, members) in groups.items() if rank in members and name != "0"]
        out: Program = [Call("0", "broadcast", (9,))]
        for step in range(6):
            order = sorted(mine, reverse=bool(step % 2))
            if step == 5:  # each enters first the group that it shares with its next neighbour
                order = [str(rank + 1), *(name for name in mine if name != str(rank + 1))]
            out += [Call(name, "all_reduce", (16 + int(name),), site=("sync", "train.py", int(name))) for name in order]
            out += [Call("0", "all_reduce", (1,)), Sync()]
        rows.append(out)
    job = Job(groups, rows, window).run()
    return Scenario(f"crossed {size}", job, Expect(True, ("circular_wait",), ((),), cycle=True))


def message_lost(rnd: random.Random, window: int, steps: int = 3) -> Scenario:
    """A pipeline in which one rank leaves out a message (or a whole exchange with its neighbour)."""
    stages = rnd.choice([2, 4])
    groups, rows = programs.mesh_of(1, stages, rnd.choice([1, 2]), steps, batched=False)
    rank = rnd.randrange(len(rows))
    at = _late(rnd, rows[rank], lambda call: call.peer is not None and not call.batch)
    call = rows[rank][at]
    job = Job(groups, [row if r != rank else [*row[:at], *row[at + 1 :]] for r, row in enumerate(rows)], window).run()
    other = groups[call.group][1][call.peer]
    if all(not job.open(r) for r in range(len(rows))):
        return Scenario("message healthy", job, healthy())
    pair = tuple(sorted((rank, other)))
    return Scenario(
        "message lost", job, Expect(True, ("p2p_unmatched", "missing_rank", "circular_wait"), ((rank,), pair, ()))
    )


def two_islands(rnd: random.Random, window: int) -> Scenario:
    """Two stalls that have nothing to do with each other."""
    tp, dp = rnd.choice([2, 4]), rnd.choice([3, 4])
    groups, rows = programs.mesh_of(tp, 1, dp, 4)
    rows = [
        [step for step in row if isinstance(step, Sync) or groups[step.group][0] == programs.MEGATRON["tp"]]
        for row in rows
    ]
    one, other = rnd.sample(range(dp), 2)
    culprits = sorted((one * tp + rnd.randrange(tp), other * tp + rnd.randrange(tp)))
    stops = {rank: _late(rnd, rows[rank]) for rank in culprits}
    job = Job(groups, rows, window, stops=stops).run()
    return Scenario("two islands", job, Expect(True, ("missing_rank",), (tuple(culprits),)))


def early(rnd: random.Random, window: int) -> Scenario:
    """Nothing is wrong, but one rank's dump is of an earlier moment than the others'."""
    kind, groups, rows = world(rnd)
    job = Job(groups, rows, window).run()
    before = Job(groups, rows, window, ticks=rnd.randrange(3, 60)).run()
    rank = rnd.randrange(len(rows))
    job.issued[rank] = before.issued[rank]
    # Whether that last look was before or after the others' last calls cannot be told where it shows all of them begun.
    return Scenario(f"early {kind}", job, healthy())


FAULTS: dict[str, Callable[[random.Random, int], Scenario]] = {
    one.__name__: one  # type: ignore[attr-defined]
    for one in (stop, two_stop, finished, dead, broken, device_dead, device_held, changed, skipped, extra, swapped, crossed,
                message_lost, two_islands, early)
}  # fmt: skip


def scenarios(name: str, seeds: range) -> Iterator[tuple[int, Scenario]]:
    for seed in seeds:
        rnd: Any = random.Random(f"{name}-{seed}")
        yield seed, FAULTS[name](rnd, rnd.choice([1, 2, 4, 8, 40, 500]))
