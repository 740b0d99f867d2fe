"""Which process group an entry belongs to: its name alone does not say, and gloo does not tell the members.

A group is its name and its members: torch gives split groups of different ranks one name. NCCL dumps list the members of
the groups that a rank is in; gloo's list one nameless group whose ranks mean nothing, so there the members are those
that recorded the name, completed from groups of the same description (all tensor-parallel groups have one size).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ...model.evidence.recorder import Recorder
from ...model.ranks import MOST_RANKS, RankSet
from ...model.ring import Ring
from .compare import numel
from .records import Facts


@dataclass(frozen=True)
class Group:
    """One process group of the job. ``known`` is False where the members were inferred.

    ``maybe`` are ranks that could be members as well, where some must be missing and the evidence does not say which.
    """

    name: str
    desc: str
    ranks: tuple[int, ...]
    known: bool = True
    maybe: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        """What people call it."""
        return self.desc if self.desc not in ("", "undefined") else f"group {self.name}"


@dataclass(frozen=True)
class Groups:
    """All groups, and which one a rank means by a name."""

    all: tuple[Group, ...]
    of: Mapping[tuple[int, str], int]
    world: int
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _List:
    """One declared list of members; equal lists are one object, because hashing a hundred thousand ranks costs."""

    ranks: tuple[int, ...]
    members: frozenset[int]


class _Lists:
    """All lists that recorders declare."""

    def __init__(self) -> None:
        self._by_object: dict[int, tuple[tuple[int, ...], _List]] = {}
        self._by_value: dict[tuple[int, ...], _List] = {}

    def of(self, ranks: tuple[int, ...]) -> _List:
        known = self._by_object.get(id(ranks))
        if known is None:
            one = self._by_value.setdefault(ranks, _List(ranks, frozenset(ranks)))
            known = self._by_object[id(ranks)] = (ranks, one)  # kept, so that no other object gets its address
        return known[1]


@dataclass
class _Name:
    """What is known of one name: who declares which members, and who only recorded operations under it."""

    desc: str = ""
    declared: dict[_List, list[int]] = field(default_factory=lambda: defaultdict(list))
    loose: list[int] = field(default_factory=list)
    completed: bool = False  # did a call of it ever end, as far as those tell who do not declare it?

    def everybody(self) -> set[int]:
        return set(self.loose).union(*self.declared.values()) if self.declared else set(self.loose)


def resolve(recorders: Mapping[int, Recorder], world_size: int | None, facts: Facts) -> Groups:
    """Give every (rank, name) its group."""
    used: dict[str, _Name] = defaultdict(_Name)
    lists = _Lists()
    for rank, recorder in recorders.items():
        _collect(used, lists, rank, recorder)
    world = max(world_size or 0, _world(used, recorders))  # of files, nobody may have seen the last ranks
    made: list[Group] = []
    of: dict[tuple[int, str], int] = {}
    doubts: list[str] = []
    for name in sorted(used, key=lambda name: (len(name), name)):
        for group, members in _split(name, used[name], world, doubts):
            for rank in members:
                of[rank, name] = len(made)
            made.append(group)
    sizes = {**_sizes_told(recorders), **facts.sizes} if not all(group.known for group in made) else {}
    silent = set(range(world)) - set(recorders)
    return Groups(tuple(_complete(made, world, sizes, silent)), of, world, tuple(doubts))


def _collect(used: dict[str, _Name], lists: _Lists, rank: int, recorder: Recorder) -> None:
    recorded: dict[str, str] = {}
    for call in set(Ring.of(recorder.entries).calls):
        recorded[call.group] = call.desc
    declared = set()
    for config in recorder.groups:
        if config.name and config.ranks and rank in (one := lists.of(config.ranks)).members:
            declared.add(config.name)
            used[config.name].desc = used[config.name].desc or config.desc
            used[config.name].declared[one].append(rank)
    for name, desc in recorded.items():
        used[name].desc = used[name].desc or desc
        if name not in declared:
            used[name].loose.append(rank)
            ring = Ring.of(recorder.entries)
            used[name].completed |= any(over and call.group == name for call, over in zip(ring.calls, ring.done))


def _world(used: Mapping[str, _Name], recorders: Mapping[int, Recorder]) -> int:
    """The world size that the dumps imply: no rank of any of them is left out, as most of those tell that name a group."""
    named = [max(most.ranks) for name in used.values()
             for most in sorted(name.declared, key=lambda one: -len(name.declared[one]))[:1]]  # fmt: skip
    # Gloo's only list has no name: its members mean nothing, but none of them can be beyond the world.
    nameless = Counter(max(config.ranks) for recorder in recorders.values() for config in recorder.groups
                       if config.ranks and not config.name)  # fmt: skip
    return min(max([*named, *(last for last, _ in nameless.most_common(1)), *recorders, -1]) + 1, MOST_RANKS)


def _split(name: str, what: _Name, world: int, doubts: list[str]) -> Iterable[tuple[Group, list[int]]]:
    """The groups that go by one name, each with the ranks that mean it."""
    everywhere = what.desc == "default_pg" or (name in ("0", "default_pg") and not what.desc)
    if not what.declared:
        ranks = tuple(range(world)) if everywhere else tuple(sorted(what.loose))
        # A group of most in which nothing ever ended: those who are not in it may be missing.
        rest = tuple(RankSet(range(world)) - RankSet(ranks))
        maybe = rest if not what.completed and len(rest) < len(ranks) else ()
        yield Group(name, what.desc, ranks, known=everywhere, maybe=maybe), what.loose
        return
    meant, strays = _claims(what)
    if strays:
        doubts.append(f"ranks disagree about the members of {what.desc or name}")
        most = max(what.declared, key=lambda one: (len(what.declared[one]), len(one.ranks)))
        ranks = most.ranks
        everybody = what.everybody()
        if everywhere or not _disjoint(what.declared):
            ranks = tuple(range(world)) if everywhere else (*ranks, *sorted(everybody.difference(ranks)))
            yield Group(name, what.desc, ranks), sorted(everybody)
            return
        yield Group(name, what.desc, tuple(sorted(strays)), known=False), sorted(strays)
    for one, members in meant.items():
        yield Group(name, what.desc, one.ranks), members


def _claims(what: _Name) -> tuple[dict[_List, list[int]], set[int]]:
    """Members by declared list, and the ranks that contradict the list they are on (or are on none)."""
    meant = {one: list(claimants) for one, claimants in what.declared.items()}
    strays: set[int] = set()
    for rank in what.loose:
        lists = [one for one in meant if rank in one.members]
        if len(lists) == 1:
            meant[lists[0]].append(rank)
        else:
            strays.add(rank)
    if len(meant) > 1 and not _disjoint(meant):
        strays.update(what.everybody())
    return meant, strays


def _disjoint(lists: Iterable[_List]) -> bool:
    counted = Counter(rank for one in lists for rank in one.members)
    return not counted or max(counted.values()) == 1


def _complete(made: list[Group], world: int, sizes: Mapping[str, int], silent: set[int]) -> list[Group]:
    """Add to inferred groups the members that recorded nothing in them yet, where their siblings leave one way."""
    by_desc: dict[str, list[int]] = defaultdict(list)
    for at, group in enumerate(made):
        if group.desc != "default_pg":
            by_desc[group.desc if group.desc not in ("", "undefined") else group.name].append(at)
    out = list(made)
    for siblings in by_desc.values():
        if any(not made[at].known for at in siblings):
            _fill(out, siblings, world, sizes, silent)
    return out


def _fill(out: list[Group], siblings: list[int], world: int, sizes: Mapping[str, int], silent: set[int]) -> None:
    size = max(max(len(out[at].ranks), sizes.get(out[at].name, 2)) for at in siblings)
    if len(siblings) > 1 and out[siblings[0]].desc not in ("", "undefined") and world % len(siblings) == 0:
        size = max(size, world // len(siblings))  # groups of one kind usually divide the world between them
    pattern = next((out[at].ranks for at in siblings if len(out[at].ranks) == size), ())
    free = set(range(world)).difference(*(out[at].ranks for at in siblings))
    short = [at for at in siblings if not out[at].known and len(out[at].ranks) < sizes.get(out[at].name, size)]
    for at in short:
        have = set(out[at].ranks)
        ways = _shifts(pattern, have, free) if pattern else []
        if len(short) == 1 and len(have) + len(free) == size:
            ways = [tuple(sorted(have | free))]
        if len(set(ways)) == 1:
            out[at] = Group(out[at].name, out[at].desc, ways[0], known=False)
            free.difference_update(ways[0])
        else:
            out[at] = replace(out[at], maybe=tuple(sorted(free)) or out[at].maybe)
    if len(siblings) == 1 and not short and not out[siblings[0]].known and free & silent:
        # The only group of its kind, and some ranks left no recorder: they may well belong to it.
        only = siblings[0]
        if out[only].name not in sizes:
            out[only] = replace(out[only], ranks=tuple(sorted({*out[only].ranks, *(free & silent)})))


def _shifts(pattern: tuple[int, ...], have: set[int], free: set[int]) -> list[tuple[int, ...]]:
    """The sibling's pattern moved so that it covers the members seen and otherwise only ranks that are free."""
    ways = []
    for base in pattern:
        moved = tuple(rank - base + min(have) for rank in pattern)
        if have.issubset(moved) and set(moved).difference(have) <= free:
            ways.append(moved)
    return ways


def _sizes_told(recorders: Mapping[int, Recorder]) -> dict[str, int]:
    """Numbers of members that tensor sizes tell: an all-gather's output is its input times the members."""
    told: dict[str, Counter[int]] = defaultdict(Counter)
    for call in {call for recorder in recorders.values() for call in set(Ring.of(recorder.entries).calls)}:
        if call.op in ("_all_gather_base", "_allgather_base", "_reduce_scatter_base"):
            sizes = sorted((numel(call.input_sizes), numel(call.output_sizes)))
            if sizes[0] and sizes[1] % sizes[0] == 0:
                told[call.group][sizes[1] // sizes[0]] += 1
    return {name: counted.most_common(1)[0][0] for name, counted in told.items()}
