"""Accounts of all subjects of a case: who they are, and which stacks and lines are theirs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..model.evidence.events import Event, Events
from ..model.evidence.stacks import NativeStacks, PythonStacks
from ..model.labels import STEP, Who, stem, who
from ..model.patterns import regex
from ..model.process import ProcessRef, Role
from ..model.ranks import RankSet
from .account import PROSE_LINES, Account, Mention, Seen, evidence_of, line_at, says, written
from .case import Case, Member
from .needles import compiled
from .papers import without_comment
from .progress import advances
from .remembered import remembered
from .saying import saying
from .strangers import about_strangers

__all__ = [
    "PROSE_LINES", "Account", "Mention", "Seen", "accounts", "compiled", "evidence_of", "last_lines", "line_at", "outlived",
    "says", "steps_at_end", "written",
]  # fmt: skip


# The subject that the logs of a live job are about.
OF_LOGS = "job"


@remembered
def accounts(case: Case) -> tuple[Account, ...]:
    """All subjects of a case: one per label of files, one per process of a live job."""
    return tuple(_live(case) if case.snapshot.live else _files(case))


def _works(case: Case, ref: ProcessRef) -> bool:
    """Whether the end of a chain gets on with its work: then it is slow, and its stack is no evidence of a hang."""
    standing = case.standings.get(ref)
    return standing is not None and advances(standing)


def _live(case: Case) -> Iterator[Account]:
    """Of a live job only those in whom a chain of waiting ends, and for long enough: others wait rightly."""
    stuck = {root.ref for root in case.graph.roots if case.stuck(root.age_s) and not _works(case, root.ref)} | {
        ref for cycle in case.graph.cycles for ref in cycle
    }
    for member in case.members:
        if member.ref not in stuck:
            continue
        rank = RankSet([member.rank]) if member.rank is not None else RankSet()
        told = tuple(event for look in member.looks if Events in look for event in look[Events].events)
        yield Account(
            str(member.ref),
            Who(ranks=rank, pid=member.ref.pid, role=member.role),
            (member.ref,),
            tuple(_seen(member)),
            told,
            member.role,
        )
    # A log remembers troubles that are over: of a job that moves it proves nothing.
    if case.events and (stuck or RankSet(case.ranks) - RankSet(case.by_rank)):
        strange = about_strangers(case)
        told = tuple(event for event in case.events if (event.file, event.line) not in strange)
        yield Account(OF_LOGS, Who(), (), (), told)


@dataclass
class _Open:
    who: Who
    refs: list[ProcessRef] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    ranks: set[int] = field(default_factory=set)
    role: Role | None = None


def _files(case: Case) -> Iterator[Account]:
    """Files of one label are one subject, unless they tell of several processes by their numbers or ranks."""
    opened: dict[str, _Open] = {}
    keys = _keys(case)
    for member in case.members:
        label = member.process.label or str(member.ref)
        one = opened.setdefault(keys.get((label, member.ref), label), _Open(who(label)))
        one.refs.append(member.ref)
        one.role = member.role
        if member.rank is not None:
            one.ranks.add(member.rank)
        known = {(seen.stack, seen.moment) for seen in one.seen}
        one.seen.extend(seen for seen in _seen(member) if (seen.stack, seen.moment) not in known)
    labels = {file: who(stem(file)).text or file for file in {event.file for event in case.events}}
    labels |= _second_tools(case)
    blocked = {(event.file, event.line) for event in case.events if event.event == "strace.blocked"}
    strange = about_strangers(case)
    for event in case.events:
        if (event.file, event.line) in strange:
            continue
        label = labels[event.file]
        key = keys.get((label, event.pid)) or keys.get((label, ("rank", event.rank))) or label
        if key not in opened:
            opened[key] = _Open(who(label))
        said = without_comment(event.file, event.text)
        if _UNFINISHED in said and (event.file, event.line) not in blocked:
            said = said.replace(_UNFINISHED, "<returned later>")
        opened[key].events.append(event if said == event.text else replace(event, text=said))
    for label, one in opened.items():
        told = replace(one.who, ranks=RankSet(one.ranks)) if one.ranks else one.who
        yield Account(label, told, tuple(one.refs), tuple(one.seen), tuple(one.events), one.role)


# What strace(1) writes where another thread's call comes between; most of such calls return some lines below.
_UNFINISHED = "<unfinished ...>"


def _second_tools(case: Case) -> dict[str, str]:
    """By file, the label of the rank that it shows again: what another tool wrote of a process is said of the same subject."""
    labels = {
        member.ref: member.process.label or ""
        for member in case.members
        if member.role is Role.RANK and any(_seen(member))
    }
    found: dict[str, str] = {}
    for item in (item for sweep in case.snapshot.sweeps for item in sweep.items):
        if not isinstance(item.record, Events) or item.process not in labels:
            continue
        label = labels[item.process]
        mine = who(label)
        for file in {event.file for event in item.record.events}:
            its = who(stem(file))
            if len(its.ranks) == 1 and its.ranks == mine.ranks and not its.later and its.role is mine.role:
                found[file] = label
    return found


def _keys(case: Case) -> dict[tuple[str, object], str]:
    """For labels that several processes share: the subject of each process, by its identity, number and rank."""
    sharing: dict[str, list[Member]] = {}
    for member in case.members:
        sharing.setdefault(member.process.label or str(member.ref), []).append(member)
    keys: dict[tuple[str, object], str] = {}
    for label, members in sharing.items():
        # A label of one rank speaks of that rank and its helpers; a label of many with one stack is one subject.
        told = {
            member.ref for member in members if any(PythonStacks in one or NativeStacks in one for one in member.looks)
        }
        if len(told) < 2 or len(who(label).ranks) == 1 or _alike(members):
            continue
        for member in members:
            name = f"rank {member.rank}" if member.rank is not None else str(member.ref)
            keys[label, member.ref] = keys[label, member.ref.pid] = f"{label}, {name}"
            if member.rank is not None:
                keys[label, ("rank", member.rank)] = f"{label}, {name}"
    return keys


def _alike(members: Iterable[Member]) -> bool:
    """Whether all have the very same stacks."""
    return len({tuple(seen.stack for seen in _seen(member)) for member in members}) == 1


# Where no step is told, epochs are.
_EPOCH = regex(r"\bepoch(?:\W{0,3}| {4,12})(\d{1,6})\b", re.IGNORECASE)
_LOOKED_AT = 24  # of the steps that come after, the last ones tell


def outlived(case: Case, event: Event, by_clock: bool = False) -> bool:
    """Whether its log goes on with at least three more steps afterwards: what was said then is over.

    Steps may begin anew, with an epoch or a bar, but they grow. ``by_clock`` asks that time stamps show the order, which
    lines of two streams may come out of.
    """
    later: list[int] = []
    if by_clock and event.at_s is None:
        return False
    for line, rank, number, at_s in reversed(_steps(case).get(event.file, ())):
        if line <= event.line or len(later) == _LOOKED_AT:
            break
        if by_clock and (at_s is None or event.at_s is None or at_s <= event.at_s):
            continue
        if event.rank is None or rank is None or rank == event.rank:
            later.insert(0, number)
    return _grow(later)


def _grow(numbers: Sequence[int]) -> bool:
    grows = sum(a < b for a, b in zip(numbers, numbers[1:]))
    return len(numbers) > 2 and grows > 3 * sum(a > b for a, b in zip(numbers, numbers[1:])) and grows > 0


_BEHIND = 12  # lines that may come behind the last step of a log which gets on


def steps_at_end(case: Case, file: str) -> bool:
    """Whether a log tells of steps that grow, until its last lines."""
    steps = _steps(case).get(file, ())[-_LOOKED_AT:]
    if not steps or last_lines(case)[file] - steps[-1][0] > _BEHIND:
        return False
    return any(
        _grow([number for _, rank, number, _ in steps if rank == one]) for one in {rank for _, rank, _, _ in steps}
    )


_Step = tuple[int, "int | None", int, "float | None"]


@remembered
def last_lines(case: Case) -> dict[str, int]:
    """The number of the last line of each file."""
    last: dict[str, int] = {}
    for event in case.events:
        last[event.file] = max(event.line, last.get(event.file, 0))
    return last


@remembered
def _steps(case: Case) -> dict[str, list[_Step]]:
    """The steps that each file tells: the line, the rank, the number, the time."""
    epochs, steps = _marked(case, _EPOCH), _marked(case, STEP)
    return {**epochs, **{file: _through(found, epochs.get(file, ())) for file, found in steps.items()}}


_IN_EPOCH = 1 << 32  # more than an epoch has steps


def _through(steps: list[_Step], epochs: Sequence[_Step]) -> list[_Step]:
    """Steps that begin anew with each epoch, numbered through where each line names its epoch."""
    epoch_of = {line: number for line, _, number, _ in epochs}
    if any(line not in epoch_of for line, *_ in steps):
        return steps
    return [(line, rank, epoch_of[line] * _IN_EPOCH + number, at_s) for line, rank, number, at_s in steps]


# A batch that is left out is no step that was made.
_PASSED_OVER = regex(r"\bskipping\b", re.IGNORECASE)


def _marked(case: Case, mark: re.Pattern[str]) -> dict[str, list[_Step]]:
    found: dict[str, dict[int, _Step]] = {}
    for said in saying(case, mark):
        if (step := mark.search(said.text)) and not _PASSED_OVER.search(said.text):
            found.setdefault(said.file, {})[said.line] = (
                said.line,
                said.rank,
                int(next(filter(None, step.groups()))),
                said.at_s,
            )
    return {file: [steps[line] for line in sorted(steps)] for file, steps in found.items()}


def _seen(member: Member) -> Iterator[Seen]:
    for moment, look in enumerate(member.looks):
        for record, native in ((PythonStacks, False), (NativeStacks, True)):
            for thread in look[record].threads if record in look else ():
                yield Seen(thread, native, moment, look[record].engine)
