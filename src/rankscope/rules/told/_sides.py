"""What each rank brought to one call, as torch, gloo, watchdogs, NCCL's log and the ranks' own prints say it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from ...analysis.case import Case
from ...model.evidence.events import Event
from ...model.patterns import regex
from ...model.ranks import RankSet, ranks_phrase
from ...model.repeated import of_texts
from ...model.words import verb
from ._findings import Fact
from ._fingerprints import lonely_call
from ._lines import events, said_by_ranks
from ._timeouts import day, timeouts
from ._wordings import halted

# Calls in which every rank brings as many elements as the others.
_EVEN = {
    "ALLREDUCE", "ALLREDUCE_COALESCED", "REDUCE", "BROADCAST",
    "ALLGATHER", "_ALLGATHER_BASE", "REDUCE_SCATTER", "_REDUCE_SCATTER_BASE",
}  # fmt: skip


def apart(case: Case) -> Fact | None:
    """The first of these that shows ranks which bring different things."""
    judges = (_fingerprints, _gloo, _operations, _sizes, _logged, _told_apart, _programs)
    return next((fact for judge in judges if (fact := judge(case)) is not None), None)


def _fingerprints(case: Case) -> Fact | None:
    said = events(case, "torch.detail_mismatch")
    if not said or lonely_call(said) is not None:
        return None
    sides: dict[int, str] = {}
    for event in said:
        for rank, prefix in ((event.rank, ""), (event.fields.get("other"), "other_")):
            if isinstance(rank, int):
                shape = event.fields.get(prefix + "shape") or ()
                sides[rank] = f"{event.fields.get(prefix + 'op')} {list(shape) if isinstance(shape, tuple) else shape}"
    odd = _minority(sides)
    what = "; ".join(f"rank {rank}: {text}" for rank, text in sorted(sides.items())[:4])
    who = f"{ranks_phrase(odd)} {verb('differ', len(odd))}" if odd else "ranks differ"
    title = f"{who} in what the collective is called with ({what})"
    return Fact(title, tuple(event.text for event in said[:2]), ranks=odd)


def _minority(sides: dict[int, str]) -> RankSet:
    """The ranks that do what fewest do; nobody when there is a tie."""
    counts = Counter(sides.values()).most_common()
    if len(counts) < 2 or counts[0][1] == counts[-1][1]:
        return RankSet()
    return RankSet(rank for rank, text in sides.items() if text != counts[0][0])


def _gloo(case: Case) -> Fact | None:
    said = events(case, "gloo.size_enforce")
    if not said:
        return None
    fields = said[0].fields
    title = f"two ranks meet in a call with different sizes: {fields.get('received')} against {fields.get('expected')} bytes"
    aborted = [
        event
        for event in events(case, "elastic.root_cause", "elastic.worker_failed")
        if event.fields.get("exitcode") == -6
    ]
    ranks = RankSet([event.rank for event in aborted if event.rank is not None][:1])
    against = ("the rank that aborts has the smaller buffer; it may be the innocent one",)
    return Fact(title, (said[0].text,), ranks=ranks, against=against)


def _operations(case: Case) -> Fact | None:
    """Time-outs at one number with different operations."""
    groups: dict[tuple[object, object, str], dict[int, str]] = {}
    for event in timeouts(case):
        if event.rank is not None and "seq" in event.fields:
            call = (event.fields.get("pg"), event.fields["seq"], day(event))
            groups.setdefault(call, {})[event.rank] = str(event.fields.get("op"))
    for (_, seq, _), sides in groups.items():
        if len(set(sides.values())) > 1:
            odd = _minority(sides)
            ops = ", ".join(sorted(set(sides.values())))
            title = (
                f"{ranks_phrase(odd) if odd else 'ranks'} {verb('call', len(odd))} another operation at #{seq}: {ops}"
            )
            lines = tuple(f"#{seq}: rank {rank} {op}" for rank, op in sorted(sides.items())[:4])
            return Fact(title, lines, ranks=odd)
    return None


def _sizes(case: Case) -> Fact | None:
    """Time-outs of one operation at one number, of one group as far as it is named, with different sizes."""
    even = _brought(event for event in timeouts(case) if event.fields.get("op") in _EVEN)
    for (_, seq, op), sides in {**even, **_empty(case)}.items():
        if len(set(sides.values())) == 2 and not _flag_against_data(sides.values()):
            odd = _minority(sides)
            title = f"ranks call {op} #{seq} with different sizes: {', '.join(sorted(set(sides.values())))} elements"
            lines = tuple(f"#{seq}: rank {rank} {size} elements" for rank, size in sorted(sides.items())[:4])
            against = ("ranks of different groups may rightly differ; the message does not name the group",)
            return Fact(title, lines, ranks=odd, against=against)
    return None


_DATA = 1000  # elements; so many are no flag


def _flag_against_data(sizes: Iterable[str]) -> bool:
    """Whether one side brings a flag of one element and the other data: those are two calls, not one with other sizes."""
    counts = sorted(map(int, sizes))
    return counts[0] == 1 and counts[-1] > _DATA


def _empty(case: Case) -> dict[_Call, dict[int, str]]:
    """Exchanges of all with all to which some ranks brought nothing, and the others one and the same size."""
    told = events(case, "torch.watchdog_timeout")
    exchanges = _brought(event for event in told if str(event.fields.get("op")).startswith("ALLTOALL"))
    return {call: sides for call, sides in exchanges.items() if "0" in sides.values()}


_Call = tuple[object, object, object]  # group, number, operation


def _brought(told: Iterable[Event]) -> dict[_Call, dict[int, str]]:
    """The elements that each rank brought to each call."""
    calls: dict[_Call, dict[int, str]] = {}
    for event in told:
        fields, size = event.fields, event.fields.get("numel_in")
        if event.rank is not None and isinstance(size, int):
            calls.setdefault((fields.get("pg"), fields.get("seq"), fields.get("op")), {})[event.rank] = str(size)
    return calls


def _logged(case: Case) -> Fact | None:
    """NCCL's own log: one number of communicators of one size, with different calls or counts."""
    calls: dict[tuple[object, object], dict[tuple[str | None, int | None], tuple[str, object]]] = {}
    comms: dict[tuple[str | None, int | None, object], set[object]] = {}
    for event in events(case, "nccl.coll"):
        told, who = event.fields, (event.host, event.pid)
        comms.setdefault((*who, told.get("nranks")), set()).add(told.get("comm"))
        calls.setdefault((told.get("nranks"), told.get("op_count")), {})[who] = str(told.get("op")), told.get("count")
    if any(len(own) > 1 for own in comms.values()):
        return None  # numbers of several communicators of one size cannot be told apart
    for (_, number), sides in calls.items():
        if len(set(sides.values())) > 1 and not any(op in ("Send", "Recv") for op, _ in sides.values()):
            lines = tuple(f"pid {pid}: {op} of {count}" for (_, pid), (op, count) in list(sides.items())[:4])
            return Fact(f"processes call different things at opCount {number}", lines)
    return None


_PROGRESS = regex(r"\b(\d+) ?/ ?(?!\1\b)\d+\b|\d%\||Watchdog caught|WorkNCCL\(")
_NUMBERS = regex(r"\d+(?:\.\d+)?")
# What must be the same on all ranks, or the calls made of it are not.
_MADE_OF = regex(
    r"\b(?:\w*shapes?|\w*sizes?|numel|lengths?|len|blocks?|blocksizes|buckets?|operands?|param\w*|experts?|dtypes?|"
    r"splits?|hash|fingerprint|checksum)\b",
    re.IGNORECASE,
)


@of_texts
def _names_size(said: str, line: str) -> bool:
    """Whether a line tells of what calls are made of: numbers of lines, of time-outs and of a progress are no sizes."""
    places = ".py" in line or ".cc" in line or ".cpp" in line or _PROGRESS.search(line)
    return not places and _MADE_OF.search(re.sub(r"([a-z])([A-Z])|_", r"\1 \2", said)) is not None


def _told_apart(case: Case) -> Fact | None:
    """Two ranks that print the same words about what their calls are made of, with other numbers."""
    if not halted(case):
        return None
    by_words: dict[str, dict[int, str]] = {}
    for rank, said, line in said_by_ranks(case):
        if _names_size(said, line):
            by_words.setdefault(_NUMBERS.sub("#", said), {})[rank] = said
    for words, sides in by_words.items():
        if len(set(sides.values())) > 1 and words.count("#") < 12:
            lines = tuple(f"rank {rank}: {said}" for rank, said in sorted(sides.items())[:4])
            return Fact("ranks differ in what their calls are made of", lines, ranks=_minority(sides))
    return None


# A program that was compiled or traced, and what was computed of it; who prints it stands before it.
_PROGRAM = regex(
    r"^\W{0,2}(?:(?P<who>(?:host|rank|process|proc|worker|node|task)[ _-]?\d{1,5})\b[\]:) |]+)?(?:[^\n]{0,60}[\s(])??"
    r"(?P<what>(?:pjit|jit|pmap|module|graph|program|hlo)\w*(?:\([\w.]+\))?)\W{1,3}(?:\w+ ){0,2}"
    r"(?:fingerprint|hash|digest|checksum|cache key)\b\W{1,4}(?P<made>[0-9a-f]{6,64})\b",
    re.IGNORECASE,
)
_RANK = regex(r"rank[ _-]?(\d+)")
_FEWEST = 3  # of two, none is the odd one


@of_texts
def _program(line: str) -> re.Match[str] | None:
    return _PROGRAM.match(line)


def _programs(case: Case) -> Fact | None:
    """Most of those that print the fingerprint of one program have the same, and few another: its calls are others, too."""
    made: dict[str, dict[str, dict[str, str]]] = {}
    for event in case.events if halted(case) else ():
        found = _program(event.text) if event.event == "text.line" else None
        speaker = event.host if event.rank is None else f"rank {event.rank}"
        if found and (who := found["who"] or speaker):
            told = made.setdefault(found["what"], {}).setdefault(who.lower(), {})
            told[found["made"].lower()] = event.text
    for what, by_who in made.items():
        usual, many = Counter(frozenset(prints) for prints in by_who.values()).most_common(1)[0]
        if len(by_who) < _FEWEST or 2 * many <= len(by_who):
            continue
        # Who made fewer may be late; who made one that nobody else has is at odds.
        odd = {who: line for who, prints in by_who.items() for print_, line in prints.items() if print_ not in usual}
        if odd:
            first, same = next(iter(odd.values())), next(p for p in by_who.values() if p.keys() == usual)
            title = f"{', '.join(list(odd)[:4])} made another {what} than the others: its calls need not be theirs"
            ranks = RankSet(int(found[1]) for who in odd if (found := _RANK.fullmatch(who)))
            return Fact(title, (first, next(iter(same.values()))), ranks=ranks, compared=True)
    return None
