"""Calls that are not complete: one record over all ranks for each first unfinished operation of a rank in a group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .groups import Group, Groups
from .ranks import Op, RankView

_MOST_PER_GROUP = 256
# Messages noted by a prepared process are numbered per pair, direction and tag; the tag stands above the number.
NOTED = "noted"
TAG_SHIFT = 40


@dataclass(eq=False)
class Pending:
    """One collective of a group (or one message of a pair) and who did what about it.

    ``waiting`` issued it and it is not over; ``done`` are past it; ``missing`` have not issued it; ``silent`` left no
    recorder, so nobody knows.
    """

    group: int
    seq: int | None
    members: tuple[int, ...]
    peer: tuple[int, int] | None = None  # (source, destination) as world ranks
    waiting: dict[int, Op] = field(default_factory=dict)
    done: list[int] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    silent: list[int] = field(default_factory=list)
    maybe: list[int] = field(default_factory=list)  # could be the members that must be missing

    @property
    def awaited(self) -> list[int]:
        """Whom it waits for. A rank without a recorder may have come; it is suspected where nobody else is missing."""
        return self.missing or self.silent or self.maybe

    @property
    def created_ns(self) -> int:
        """When the first of those who wait issued it, by that rank's clock."""
        return min((op.created_ns for op in self.waiting.values() if op.created_ns), default=0)

    @property
    def op(self) -> Op:
        return next(iter(self.waiting.values()))


def pending(
    views: Mapping[int, RankView], groups: Groups, strangers: Collection[tuple[int, int]] = ()
) -> list[Pending]:
    """All incomplete calls at which some rank stands first in some group; ``strangers`` are listed as members but are none."""
    out: list[Pending] = []
    for (group, seq), ops in sorted(_first_open(views).items()):
        of = groups.all[group]
        if strangers:
            of = replace(of, ranks=tuple(rank for rank in of.ranks if (group, rank) not in strangers))
        out.append(_collective(of, group, seq, ops, views))
    out.extend(_messages(views, groups))
    return out


def _first_open(views: Mapping[int, RankView]) -> dict[tuple[int, int], dict[int, Op]]:
    wanted: dict[int, set[int]] = defaultdict(set)
    for view in views.values():
        for group, seqs in view.open_seqs.items():
            wanted[group].add(min(seqs))
    kept = {(group, seq) for group, seqs in wanted.items() for seq in sorted(seqs)[:_MOST_PER_GROUP]}
    found: dict[tuple[int, int], dict[int, Op]] = {key: {} for key in kept}
    for view in views.values():
        for op in view.open:
            if not op.call.is_p2p and (op.group, op.seq) in kept:
                found[op.group, op.seq].setdefault(view.rank, op)
    return found


def _collective(group: Group, gid: int, seq: int, ops: dict[int, Op], views: Mapping[int, RankView]) -> Pending:
    made = Pending(gid, seq, group.ranks, waiting=ops)
    for rank in group.ranks:
        if rank in ops:
            continue
        view = views.get(rank)
        if view is None:
            made.silent.append(rank)
        elif view.last.get(gid, -1) >= seq or view.may_forget(gid, made.created_ns):
            made.done.append(rank)
        else:
            made.missing.append(rank)
    if not made.missing and not made.silent:
        made.maybe.extend(group.maybe)
    return made


@dataclass(eq=False)
class _Side:
    """The sends (or receives) of one rank to (or from) one peer, oldest first."""

    view: RankView
    at: list[int] = field(default_factory=list)


def _messages(views: Mapping[int, RankView], groups: Groups) -> Iterable[Pending]:
    sends: dict[tuple[int, int, int], _Side] = {}
    receives: dict[tuple[int, int, int], _Side] = {}
    partners: dict[tuple[int, int], set[int]] = defaultdict(set)
    open_ops: dict[tuple[int, int], Op] = {}
    for view in views.values():
        _collect_messages(view, groups, sends, receives, partners)
        open_ops.update(((view.rank, op.at), op) for op in view.open if op.call.is_p2p)
    for key in sorted({*sends, *receives}):
        yield from _pair(key, sends.get(key), receives.get(key), views, partners, open_ops)


def _collect_messages(
    view: RankView,
    groups: Groups,
    sends: dict[tuple[int, int, int], _Side],
    receives: dict[tuple[int, int, int], _Side],
    partners: dict[tuple[int, int], set[int]],
) -> None:
    if not any(call.is_p2p for call in set(view.ring.calls)):
        return
    for at, call in enumerate(view.ring.calls):
        group = groups.of.get((view.rank, call.group)) if call.peer is not None else None
        if group is None or call.peer is None:
            continue
        ranks = groups.all[group].ranks
        if max(call.peer) >= len(ranks):
            continue
        source, target = ranks[call.peer[0]], ranks[call.peer[1]]
        sending = call.op == "send"
        if (source if sending else target) != view.rank:
            continue  # the list of members cannot be right: do not guess whom it means
        side = (sends if sending else receives).setdefault((group, source, target), _Side(view))
        side.at.append(at)
        partners[group, view.rank].add(target if sending else source)


def _pair(
    key: tuple[int, int, int],
    send: _Side | None,
    receive: _Side | None,
    views: Mapping[int, RankView],
    partners: Mapping[tuple[int, int], set[int]],
    open_ops: Mapping[tuple[int, int], Op],
) -> Iterable[Pending]:
    """The first message that the sender, and the first that the receiver, is not through with."""
    group, source, target = key
    numbers = _numbering(key, send, receive, views, partners)
    sides = {}
    for rank, side in ((source, send), (target, receive)):
        sides[rank] = {} if side is None else dict(zip(numbers(side), side.at, strict=True))
    first = {min(n for n, at in of.items() if (rank, at) in open_ops)
             for rank, of in sides.items() if any((rank, at) in open_ops for at in of.values())}  # fmt: skip
    for number in sorted(first):
        made = Pending(group, None, (source, target), peer=(source, target))
        for rank, of in sides.items():
            at = of.get(number)
            if at is not None and (rank, at) in open_ops:
                made.waiting[rank] = open_ops[rank, at]
            elif at is not None or number < min(_of_tag(of, number), default=number):
                made.done.append(rank)
            else:
                (made.missing if rank in views else made.silent).append(rank)
        if made.waiting and not (made.done and _kept_open(made, views)):
            yield made


def _kept_open(made: Pending, views: Mapping[int, RankView]) -> bool:
    """Is a message over at its other end, and open here only as part of a batch, which ends as one?"""
    return all(sum(other.step == op.step for other in views[rank].open) > 1 for rank, op in made.waiting.items())


def _of_tag(numbers: Iterable[int], like: int) -> list[int]:
    return [number for number in numbers if number >> TAG_SHIFT == like >> TAG_SHIFT]


def _numbering(
    key: tuple[int, int, int],
    send: _Side | None,
    receive: _Side | None,
    views: Mapping[int, RankView],
    partners: Mapping[tuple[int, int], set[int]],
) -> Callable[[_Side], Sequence[int]]:
    """How to count the messages of a pair so that equal numbers on both sides mean one message.

    Rings that go back to the start are simply counted. Rings that do not are matched by torch's own number of sends and
    receives in the group, where both sides agree on it; otherwise, and where finished ones were left out, by the first
    unfinished one of each side.
    """
    group, source, target = key
    sides = [side for side in (send, receive) if side is not None]
    if all(side.view.ring.calls[at].backend == NOTED for side in sides for at in side.at[:1]):
        return lambda side: [side.view.ring.p2p_seqs[at] for at in side.at]
    if all(views[rank].whole for rank in (source, target) if rank in views):
        return lambda side: range(len(side.at))

    def own_number(side: _Side) -> list[int]:
        return [side.view.ring.p2p_seqs[at] for at in side.at]

    def from_first_open(side: _Side) -> range:
        opened = next((i for i, at in enumerate(side.at) if not side.view.ring.done[at]), len(side.at))
        return range(-opened, len(side.at) - opened)

    solo = partners.get((group, source), set()) <= {target} and partners.get((group, target), set()) <= {source}
    if any(side.view.only_active for side in sides):
        return from_first_open
    if solo and (send is None or receive is None or _mirrored(own_number(send), own_number(receive))):
        return own_number
    return from_first_open


def _mirrored(sent: Sequence[int], received: Sequence[int]) -> bool:
    """Do both sides give the same numbers to their halves, where both remember? So they do when each posts the other
    half of what its partner posts, one by one."""
    first, last = max(min(sent), min(received)), min(max(sent), max(received))
    return first <= last and {n for n in sent if first <= n <= last} == {n for n in received if first <= n <= last}
