"""Where the ranks parted: the last call that both sides made, and the call paths of each side after it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...model.diagnosis import CallPath, CollectiveState, Divergence
from ...model.evidence.recorder import Recorder, RecorderEntry
from ...model.evidence.stacks import Frame
from ...model.ranks import RankSet
from ..case import Case, Member
from ..origin import is_user

_KINDS = (
    "missing_rank",
    "collective_mismatch",
    "size_mismatch",
    "dtype_mismatch",
    "argument_mismatch",
    "p2p_unmatched",
)
_NEWEST = 512


def diverge(case: Case, concerned: RankSet) -> Divergence | None:
    """The parting of the decisive call, when it concerns these ranks; None where recorders do not tell."""
    for state in case.comparison.states if case.comparison.hang else ():
        if state.kind in _KINDS and not state.consequence and state.culprits & concerned:
            return part(case, state)
    return None


def part(case: Case, state: CollectiveState) -> Divergence | None:
    """One waiting rank beside one rank at fault."""
    usual = _first(case, state.waiting - state.culprits)
    odd = _first(case, state.culprits)
    if usual is None or odd is None:
        return None
    mine, theirs = _entries(usual), _entries(odd)
    sides = (_side(case, usual, _at(mine, state)), _side(case, odd, _at(theirs, state)))
    if not all(side.frames for side in sides):
        return None
    return Divergence(sides, _common(mine, theirs, state, (usual, odd)))


def _first(case: Case, ranks: Iterable[int]) -> Member | None:
    return next((case.by_rank[rank] for rank in ranks if rank in case.by_rank), None)


def _entries(member: Member) -> Sequence[RecorderEntry]:
    recorder = member.latest(Recorder)
    return recorder.entries[-_NEWEST:] if recorder else ()


def _at(entries: Sequence[RecorderEntry], state: CollectiveState) -> RecorderEntry | None:
    """What a rank issued as this call: the same number, or the message that is not over."""
    for entry in entries:
        same = entry.is_p2p and not entry.done if state.pair else entry.seq == state.seq and not entry.is_p2p
        if entry.group == state.group and same:
            return entry
    return None


def _side(case: Case, member: Member, entry: RecorderEntry | None) -> CallPath:
    """The path of the call it issued; where it issued none, or its path was not recorded, the path on which it stands."""
    ranks = RankSet([member.rank] if member.rank is not None else [])
    frames = _own(reversed(entry.frames)) if entry is not None else ()
    what = name(entry) if entry is not None else "issued no such call; it stands here"
    if not frames:
        standing = case.standings.get(member.ref)
        frames = _own(standing.own_stack) if standing is not None else ()
    return CallPath(ranks, what, frames, member.ref)


def _own(frames: Iterable[Frame]) -> tuple[Frame, ...]:
    return tuple(frame for frame in frames if is_user(frame))


def _common(
    mine: Sequence[RecorderEntry],
    theirs: Sequence[RecorderEntry],
    state: CollectiveState,
    members: tuple[Member, Member],
) -> CallPath | None:
    """The newest collective of the group that both issued alike before they parted."""
    known = {(entry.seq, entry.op): entry for entry in theirs if entry.group == state.group and not entry.is_p2p}
    for entry in reversed(mine):
        before = state.seq is None or entry.seq < state.seq
        other = known.get((entry.seq, entry.op)) if entry.group == state.group and not entry.is_p2p and before else None
        if other is not None:
            ranks = RankSet(member.rank for member in members if member.rank is not None)
            recorded = next((one for one in (entry, other) if one.frames), entry)
            return CallPath(ranks, name(entry), _own(reversed(recorded.frames)), members[0].ref)
    return None


def name(entry: RecorderEntry) -> str:
    """``all_reduce #41 of dp`` or ``send 0→3 of pp`` (in ranks of the group)."""
    group = entry.desc if entry.desc not in ("", "undefined") else f"group {entry.group}"
    if entry.is_p2p:
        pair = f" {entry.peer[0]}→{entry.peer[1]}" if entry.peer else ""
        return f"{entry.op}{pair} of {group}"
    return f"{entry.op} #{entry.seq} of {group}"
