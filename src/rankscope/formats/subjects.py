"""One file about several processes: which lines are about whom, by headers of dumps and headings that people write."""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from ..model.labels import stem, who
from ..model.patterns import regex
from ..model.ranks import RankSet
from ..model.repeated import of_texts
from .lines import Line
from .records import Dump, Record

_PROCESS = regex(
    r"^(?:Process (?P<pyspy>\d{1,10}):(?: |$)|Attaching to (?:program: .*, )?process (?P<gdb>\d{1,10})\b|"
    r"PID (?P<elf>\d{1,10}) - |Attaching to process ID (?P<pystack>\d{1,10})\b"
    r"|\S* ?(?:\$|#) (?:sudo (?:-\w+ )*)?(?:py-spy dump|gdb|pystack remote|gstack|pstack|eu-stack)\b[^|\d]*?(?<= )(?P<typed>\d{2,10})\b|(?P<gstack>\d{2,10}): +/\S+)"
)
_OURS = regex(r"^This is rank (\d{1,7}) on \S+$")
_WORDS = (
    r"(?:\([^()]{0,60}\)|stack(?: ?trace)?s?|traceback|dump|backtrace|main(?: ?thread)?|process|py-spy|gdb|log|output)"
)
_HEADING = regex(
    rf"^[\W_]{{0,200}}(?:{_WORDS}\s+){{0,8}}(?:(?:of|for|from|on)\s+)?(?P<ranks>(?:global |world )?ranks?(?:[ _#=]|: | #)?\d{{1,6}}(?: ?(?:(?:-|–|,|&|to|and) ?){{1,4}}(?:rank )?\d{{1,6}})*)"
    rf"(?:[\s,(]+(?:pid[ =:]*(?P<pid>\d{{1,10}})\)?|{_WORDS})){{0,8}}[\s:=*#\])_-]*$",
    re.IGNORECASE,
)
_OTHER_HEADING = regex(
    r"^(?:#{1,6} \S|={3} ?\S.*={3}$|-{3,} ?[^-\s].*-{3}$|"
    r"\W*(?:all |the )?(?:other|remaining) (?:\d+ )?(?:ranks|workers|processes)\W*$)",
    re.IGNORECASE,
)

# tail(1) and head(1) of several files.
_FILE = regex(r"^==> (\S.*?) <==$")


@dataclass(frozen=True)
class Section:
    """Whom the lines below a header are about."""

    pid: int | None = None
    ranks: RankSet = field(default_factory=RankSet)
    beyond: bool = False  # the header lists ranks as no job has them


def section_of(line: Line, before: Section) -> Section:
    """The section that a line opens, or the one it stands in."""
    text = line.text
    if not _may_open(text):
        return before
    if found := _PROCESS.match(text):
        pid = int(next(value for value in found.groups() if value))
        # Below a heading that names a rank, the first process is that rank's.
        return Section(pid, before.ranks if before.pid is None else RankSet())
    if found := _OURS.match(text):
        return replace(before, ranks=RankSet([int(found.group(1))]))
    if found := _FILE.match(text):
        return _named(stem(found.group(1)))
    if len(text) < 160 and (found := _HEADING.match(text)):
        return _named(found["ranks"], int(found["pid"]) if found["pid"] else None)
    if len(text) < 160 and _OTHER_HEADING.match(text):
        return Section()
    return before


@of_texts
def _may_open(text: str) -> bool:
    """Whether a line opens a section."""
    return any(pattern.match(text) for pattern in (_PROCESS, _OURS, _FILE, _HEADING, _OTHER_HEADING))


def _named(label: str, pid: int | None = None) -> Section:
    meant = who(label)
    return Section(pid, meant.ranks, meant.beyond)


def placed(line: Line, section: Section) -> Line:
    """The line with what its section says of its origin, where its own prefix says nothing."""
    rank = next(iter(section.ranks)) if len(section.ranks) == 1 else None
    if line.pid is None and line.rank is None and (section.pid is not None or rank is not None):
        return Line(line.number, line.text, rank, line.local_rank, line.host, section.pid, line.source, line.at_s)
    return line


def of_all(record: Record, section: Section) -> Record:
    """A stack below a heading such as ``ranks 1-7`` is the stack of each."""
    if isinstance(record, Dump) and len(section.ranks) > 1 and record.rank is None and not record.ranks:
        return replace(record, ranks=section.ranks)
    return record


# Below these a process is a helper of some rank, not a rank.
HELPERS = frozenset({"_worker_loop", "_do_spawn", "fork_helper", "_main_loop"})


def of_tasks(dumps: Iterable[Dump]) -> list[Dump]:
    """``srun -l`` numbers tasks: a task that shows several processes that may be ranks is a node, and its number no rank."""
    found = list(dumps)
    pids: dict[int, set[int]] = {}
    helpers = {one.pid for one in found if any(frame.function in HELPERS for frame in one.thread.stack)}
    for one in found:
        if one.rank is not None and one.pid is not None and one.pid not in helpers:
            pids.setdefault(one.rank, set()).add(one.pid)
    nodes = {rank for rank, several in pids.items() if len(several) > 1}
    return [_of_node(one) if one.rank in nodes else one for one in found]


def _of_node(dump: Dump) -> Dump:
    return replace(dump, rank=None, host=dump.host or f"task{dump.rank}")


def with_pids(dumps: Iterable[Dump]) -> list[Dump]:
    """Dumps that run together without any header: the thread that started a process has the process's number.

    The first thread is called MainThread by py-spy and has number 1 in gdb (its notes are in ``order`` per dump).
    """
    found = list(dumps)
    leaders = [one.thread.tid for one in found if _leads(one)]
    if len(set(leaders)) < 2:
        return found
    return list(_by_leader(found))


def _placed(dump: Dump) -> bool:
    return dump.rank is not None or bool(dump.ranks)


def _leads(dump: Dump) -> bool:
    return (
        dump.pid is None
        and not _placed(dump)
        and dump.thread.tid is not None
        and (dump.thread.name == "MainThread" or dump.first)
    )


def _by_leader(dumps: list[Dump]) -> Iterator[Dump]:
    """Each dump with the number of its leader: in gdb's text it comes last, in py-spy's it comes first."""
    of_order = {(one.engine, one.order): one.thread.tid for one in dumps if _leads(one) and one.first}
    last: int | None = None
    for one in dumps:
        if one.pid is not None or _placed(one):
            yield one
            continue
        if _leads(one) and not one.first:
            last = one.thread.tid
        pid = of_order.get((one.engine, one.order), last)
        yield one if pid is None else replace(one, pid=pid)
