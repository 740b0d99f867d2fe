"""Calls whose members did not issue the same: who is the odd one, and was the call swapped, skipped or extra?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from .calls import Pending
from .compare import Mismatch, Signature, mismatch, numel, signature
from .groups import Groups
from .ranks import RankView

_LOOK_AHEAD = 8
_MOST_COMPARED = 8192  # members whose finished entries are looked up as well


@dataclass(frozen=True)
class Clash:
    """A mismatch at one incomplete call; ``story`` says what the odd ranks did, where their other calls tell."""

    kind: str
    odd: tuple[int, ...]
    expected: Signature | None
    found: tuple[tuple[str, tuple[int, ...]], ...]
    story: str = ""
    tie: bool = False


def clash(call: Pending, views: Mapping[int, RankView], groups: Groups) -> Clash | None:
    """Compare what the members of one call issued."""
    if call.peer is not None:
        return _message_clash(call)
    if call.seq is None or len(call.waiting) + len(call.done) < 2:
        return None
    issued = _issued(call, call.seq, views, groups)
    group = groups.all[call.group]
    size = (
        len(call.members) if group.known or len(views) == groups.world else 0
    )  # 0: who else belongs to it is not known
    found = mismatch(issued, size, None)
    if found is None:
        return _roots_clash(issued, size)
    if found.tie:
        found = mismatch(issued, size, _habits(call, call.seq, views, groups)) or found
    kind, story = _neighbours(call, call.seq, found, issued, views, groups)
    told = tuple((str(one), ranks) for one, ranks in found.found.items())
    return Clash(kind, found.odd, found.expected, told, story, found.tie)


def _roots_clash(issued: Mapping[int, Signature], size: int) -> Clash | None:
    """A gather has an output at its root alone, a scatter an input: more than one means that roots differ."""
    one = next(iter(issued.values()))
    if one.ops not in (("gather",), ("scatter",)) or not size or len(issued) < size:
        return None
    sides = {rank: made.outputs if one.ops == ("gather",) else made.inputs for rank, made in issued.items()}
    roots = tuple(rank for rank, side in sides.items() if len(side) > 1 or numel(dims for dims in side if dims))
    if not 1 < len(roots) < size:  # some backends record the same of all
        return None
    return Clash(
        "argument_mismatch", (), one, ((f"{one.ops[0]} as its root", roots),), "passed different roots", tie=True
    )


def _issued(call: Pending, seq: int, views: Mapping[int, RankView], groups: Groups) -> dict[int, Signature]:
    made: dict[int, Signature] = {}
    cache: dict[tuple[int, ...], Signature] = {}
    look = [*call.waiting, *call.done] if len(call.members) <= _MOST_COMPARED else list(call.waiting)
    for rank in look:
        op = call.waiting.get(rank)
        view = views[rank]
        single = op is not None and seq not in view.coalesced.get(call.group, ())
        calls = (op.call,) if single and op is not None else view.calls_at(groups, call.group, seq)
        if calls:
            key = tuple(map(id, calls))
            if key not in cache:
                cache[key] = signature(calls)
            made[rank] = cache[key]
    return made


def _habits(call: Pending, seq: int, views: Mapping[int, RankView], groups: Groups) -> Counter[object]:
    """How often each call was made where this one stands: in groups of the same description under the same number, else
    in this group after the same calls as now."""
    seen: Counter[object] = Counter()
    desc = groups.all[call.group].desc
    for other, group in enumerate(groups.all):
        if other != call.group and group.desc == desc and desc:
            for rank in group.ranks[:8]:
                calls = views[rank].calls_at(groups, other, seq) if rank in views else ()
                if calls:
                    seen[signature(calls).key] += 1
    return seen or _after_the_same(_history(call, seq, views, groups))


def _history(call: Pending, seq: int, views: Mapping[int, RankView], groups: Groups) -> list[object]:
    """The calls of a group before one number, oldest first, from the member that remembers most."""
    best: list[object] = []
    for rank in call.members[:8]:
        if rank in views:
            made = (views[rank].calls_at(groups, call.group, before) for before in range(max(0, seq - 512), seq))
            best = max(best, [signature(calls).key for calls in made if calls], key=len)
    return best


def _after_the_same(past: list[object]) -> Counter[object]:
    """What followed, each time before, the calls that were made last: the longest row of them that was seen before."""
    for length in (16, 8, 4, 2, 1):
        row = past[-length:]
        found = Counter(past[at] for at in range(length, len(past)) if past[at - length : at] == row)
        if found and len(row) == length:
            return found
    return Counter(past)


def _neighbours(
    call: Pending,
    seq: int,
    found: Mismatch,
    issued: Mapping[int, Signature],
    views: Mapping[int, RankView],
    groups: Groups,
) -> tuple[str, str]:
    """Do the odd rank's calls fit when moved by one? Then a call was swapped, skipped or added, whatever its type."""
    if not found.odd or found.tie:
        return found.kind, ""
    usual = next(rank for rank, one in issued.items() if one.same(found.expected))

    def made(rank: int) -> list[Signature | None]:
        issued = (views[rank].calls_at(groups, call.group, seq + k) for k in range(_LOOK_AHEAD))
        return [signature(calls) if calls else None for calls in issued]

    stories = {_story(made(rank), made(usual)) for rank in found.odd}
    if len(stories) == 1 and (story := stories.pop()):
        return "collective_mismatch", story
    return found.kind, ""


def _story(odd: list[Signature | None], usual: list[Signature | None]) -> str:
    """Lay the odd rank's calls from here on beside the usual ones, moved by one or not, and see which way they fit."""
    if _fits(odd[:1], usual[1:2]) == 1 == _fits(odd[1:2], usual[:1]):
        return "issued this call and the next in the opposite order"
    # That repeated calls fit when moved means nothing, so only one call differs unless that explains less.
    stays = _fits(odd[1:], usual[1:])
    skipped, added = _fits(odd, usual[1:]), _fits(odd[1:], usual)
    if skipped > max(stays, added, 1):
        return "left this call out: what it issued is what the others issue next"
    if added > max(stays, 0):
        return "issued a call more: what the others issue here is its next"
    return ""


def _fits(odd: list[Signature | None], usual: list[Signature | None]) -> int:
    """How many calls of two rows are equal; -1 when one pair differs."""
    pairs = [(a, b) for a, b in zip(odd, usual) if a is not None and b is not None]
    return len(pairs) if all(a.same(b) for a, b in pairs) else -1


def _message_clash(call: Pending) -> Clash | None:
    """A send and its receive whose sizes or types differ."""
    if len(call.waiting) < 2 or call.peer is None:
        return None
    source, target = call.peer
    sent, received = call.waiting[source].call, call.waiting[target].call
    given, wanted = sent.input_sizes or sent.output_sizes, received.output_sizes or received.input_sizes
    if numel(given) == numel(wanted) and set(sent.input_dtypes) == set(received.output_dtypes or received.input_dtypes):
        return None
    one, other = signature((sent,)), signature((received,))
    told = ((str(one), (source,)), (str(other), (target,)))
    return Clash("p2p_unmatched", (source, target), one, told, "send and receive differ in size or type", tie=True)
