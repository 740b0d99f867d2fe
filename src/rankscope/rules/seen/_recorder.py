"""What the rules about recorders share: words for a call, where it was issued, and how sure one may be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...analysis.case import Case
from ...analysis.collectives.parallel import coordinates
from ...analysis.collectives.paths import part
from ...analysis.origin import Origin, origin
from ...model.diagnosis import Certainty, CollectiveState, Reason, Step
from ...model.evidence.calls import Calls, NotedCall
from ...model.evidence.recorder import Recorder, RecorderEntry
from ...model.evidence.stacks import Frame, PythonStacks, PythonThread
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import span

_RHYTHMS = 10  # a wait is old when it is ten times as long as the pauses this job makes

_NEVER_MEET = frozenset({"collective_mismatch", "dtype_mismatch"})


def causes(case: Case, *kinds: str) -> Iterator[CollectiveState]:
    """The calls that the account takes for causes, of the kinds given.

    What only follows from them is left out, and so is, in a running job, a wait that is too young to mean anything;
    calls that differ can never meet, however young they are.
    """
    if case.comparison.hang:
        for state in case.comparison.states:
            ripe = not case.snapshot.live or state.kind in _NEVER_MEET or old(case, state)
            if state.kind in kinds and not state.consequence and ripe:
                yield state


def old(case: Case, state: CollectiveState) -> bool:
    """Has a call been waited in for long, by the user's word and by the job's own rhythm?"""
    waited = age(case, state)
    rhythm = max((case.comparison.rhythm.get(rank, 0.0) for rank in state.waiting), default=0.0)
    return waited is not None and case.stuck(waited) and waited >= _RHYTHMS * rhythm


def call(state: CollectiveState) -> str:
    """``all_reduce #41 of dp``, ``send 0→3 of pp``."""
    group = state.desc if state.desc not in ("", "undefined") else f"group {state.group}"
    if state.seq is None:
        pair = f" {state.pair[0]}→{state.pair[1]}" if state.pair else ""
        return f"{state.op}{pair} of {group}"
    return f"{state.op} #{state.seq} of {group}"


def age(case: Case, state: CollectiveState) -> float | None:
    """How long the longest waiting rank of a call has waited, where times tell."""
    ages = [case.comparison.ages[rank] for rank in state.waiting if rank in case.comparison.ages]
    return max(ages, default=None)


def certainty(case: Case) -> Certainty:
    """Recorders of a running job with an old wait are certain; files have no age, and members may be inferred."""
    if case.snapshot.live:
        return Certainty.LIKELY if case.comparison.weak else Certainty.CERTAIN
    return Certainty.POSSIBLE if case.comparison.weak else Certainty.LIKELY


def at_most_likely(found: Certainty) -> Certainty:
    """The certainty of a conclusion that other evidence could still overturn."""
    return Certainty.LIKELY if found is Certainty.CERTAIN else found


def waits(case: Case, state: CollectiveState) -> Iterator[Reason]:
    """Who waits in the call, since when, and where they issued it."""
    if not state.waiting:
        return
    waited = age(case, state)
    since = f", the longest for {span(waited)}" if waited is not None else ""
    verb = "waits" if len(state.waiting) == 1 else "wait"
    yield Reason(f"{ranks_phrase(state.waiting)} issued {call(state)} and {verb} in it{since}", "recorder")
    issued = site(case, state, state.waiting - state.culprits)
    if issued:
        yield Reason(f"issued at {issued}", "recorder")


def last_done(case: Case, state: CollectiveState, rank: int) -> Reason | None:
    """What a rank that did not come did last in that group."""
    member = case.by_rank.get(rank)
    recorder = member.latest(Recorder) if member else None
    if recorder is None or state.seq is None:
        return None
    mine = [entry for entry in reversed(recorder.entries[-512:]) if entry.group == state.group and not entry.is_p2p]
    if not mine:
        return Reason(f"rank {rank} recorded no call in this group", "recorder", member.ref if member else None)
    entry = mine[0]
    ended = "which is over" if entry.done else "which is not over"
    where = user_frame(entry)
    place = f", at {place_of(where)}" if where else ""
    return Reason(f"the last call of rank {rank} there is {entry.op} #{entry.seq}, {ended}{place}", "recorder",
                  member.ref if member else None)  # fmt: skip


def shared(case: Case, state: CollectiveState) -> Iterator[Reason]:
    """The last call that both sides made before they parted."""
    parted = part(case, state)
    if parted is not None and parted.common is not None:
        frames = parted.common.frames
        at = f", at {place_of(frames[-1])}" if frames else ""
        yield Reason(
            f"the last call that {ranks_phrase(parted.common.ranks)} share is {parted.common.what}{at}", "recorder"
        )


def place(case: Case, ranks: RankSet) -> Iterator[Reason]:
    """Where the first of these ranks stand in the job's parallelism."""
    for rank in list(ranks)[:4]:
        member = case.by_rank.get(rank)
        recorder = member.latest(Recorder) if member else None
        where = coordinates(recorder, rank) if recorder else ""
        if where:
            yield Reason(f"rank {rank} is {where}", "recorder", member.ref if member else None)


def site(case: Case, state: CollectiveState, ranks: RankSet) -> str:
    """The line of the job's own code from which the first of these ranks issued the call."""
    for rank in ranks:
        member = case.by_rank.get(rank)
        recorder = member.latest(Recorder) if member else None
        for entry in reversed(recorder.entries[-512:] if recorder else ()):
            same = not entry.done if state.pair else entry.seq == state.seq
            if entry.group == state.group and same and entry.op == state.op and entry.frames:
                frame = user_frame(entry)
                return f"{place_of(frame)} (rank {rank})" if frame else ""
        if recorder is not None:
            return ""
    return ""


def user_frame(entry: RecorderEntry) -> Frame | None:
    """The innermost recorded frame that is the job's own."""
    return next((frame for frame in entry.frames if origin(frame) is Origin.USER), None)


def place_of(frame: Frame) -> str:
    return f"{frame.function} ({frame.file.rsplit('/', 1)[-1]}:{frame.line})"


def absentees(case: Case, state: CollectiveState) -> RankSet:
    """The ranks at fault that do not themselves wait for somebody, as far as stacks tell.

    Recorders of gloo hold no messages: a rank that stands in a receive looks idle there.
    """
    waits = case.graph.by_waiter
    held = RankSet(rank for rank in state.culprits if (member := case.by_rank.get(rank))
                   and any(wait.target is not None for wait in waits.get(member.ref, ())))  # fmt: skip
    return state.culprits - held


def noted(case: Case, state: CollectiveState) -> dict[int, NotedCall]:
    """The calls that prepared ranks noted under the number at which those who wait stand, by rank."""
    calls = {rank: found.calls for rank, member in case.by_rank.items() if (found := member.latest(Calls))}
    op = state.op.strip("_")
    numbers = {call.n for rank in state.waiting for call in calls.get(rank, ())
               if call.state in ("inside", "waiting") and (call.group, call.op) == (state.group, op)}  # fmt: skip
    if len(numbers) != 1:
        return {}
    (number,) = numbers
    return {rank: call for rank, made in calls.items() for call in made
            if (call.group, call.n, call.op) == (state.group, number, op)}  # fmt: skip


def roots_noted(case: Case, state: CollectiveState) -> dict[str, RankSet]:
    """The roots that prepared ranks noted, those that are through with the call included."""
    found = {
        rank: f"rank {state.ranks[call.root]}"
        for rank, call in noted(case, state).items()
        if call.root is not None and call.root < len(state.ranks)
    }
    return parties(found)


def parties(values: Mapping[int, str]) -> dict[str, RankSet]:
    """Ranks by what they passed, the largest party first."""
    found: dict[str, list[int]] = {}
    for rank, value in values.items():
        found.setdefault(value, []).append(rank)
    return {value: RankSet(ranks) for value, ranks in sorted(found.items(), key=lambda party: -len(party[1]))}


_ROOTED = frozenset({"broadcast", "reduce", "gather", "scatter"})
_ROOT_NAMES = ("group_src", "group_dst", "src", "dst")


def roots_passed(case: Case, state: CollectiveState) -> dict[str, RankSet]:
    """The root that each waiting rank passed to a call that has one, from the locals of torch's own frames.

    Calls of objects are made of several: who is through with this one and stands in another of them counts as well.
    """
    op = state.op.strip("_")
    if op not in _ROOTED:
        return {}
    found: dict[int, str] = {}
    around: set[str] = set()
    for rank in state.waiting:
        for thread in _threads(case, rank):
            if value := _root(thread, {op}):
                found[rank] = value
                around |= _rooted(thread) - {op}
                break
    for rank in state.arrived - state.waiting if found else ():
        for thread in _threads(case, rank):
            if op not in _rooted(thread) and (value := _root(thread, around)):
                found[rank] = value
    return parties(found)


def _threads(case: Case, rank: int) -> tuple[PythonThread, ...]:
    member = case.by_rank.get(rank)
    stacks = member.latest(PythonStacks) if member else None
    return stacks.threads if stacks else ()


def _rooted(thread: PythonThread) -> set[str]:
    """The functions of a thread that were given a root."""
    return {thread.stack[one.depth].function for one in thread.locals if one.name in _ROOT_NAMES}


def _root(thread: PythonThread, functions: set[str]) -> str | None:
    """The root that a thread passed to one of these functions; its number in the group says more than that in the job."""
    values = {one.name: one.value for one in thread.locals if thread.stack[one.depth].function in functions}
    return next((values[name] for name in _ROOT_NAMES if values.get(name, "None") != "None"), None)


def look_next(case: Case, ranks: RankSet) -> tuple[Step | str, ...]:
    """Commands that would tell more."""
    if not case.snapshot.live:
        verb = "does" if len(ranks) == 1 else "do"
        return (
            (f"rankscope diagnose   # on the running job: what {ranks_phrase(ranks)} {verb} instead",) if ranks else ()
        )
    refs = [case.by_rank[rank].ref for rank in ranks if rank in case.by_rank]
    return tuple(Step(f"rankscope stacks pid:{ref.pid} --source", ref) for ref in refs[:3])
