"""What all files said → one snapshot: joined by rank, pid and host; two dumps of one thread are two moments."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ..model.evidence.events import Event, Events
from ..model.evidence.recorder import Recorder
from ..model.evidence.stacks import NativeStacks, PythonStacks, PythonThread, Stack
from ..model.evidence.threads import Threads
from ..model.gap import Gap, Why
from ..model.labels import Who
from ..model.process import UNKNOWN_HOST, UNNUMBERED, Process, ProcessRef, Role
from ..model.snapshot import FILES, Item, Job, Snapshot, Sweep
from . import apart, looked_again, recorder_files, siblings
from .leaders import leader
from .reading import FileEvidence
from .recorder_files import newest
from .records import Dump
from .subjects import of_tasks, with_pids

# A few lines may name all ranks of the largest job; what is left out is told as a gap.
STACKS_PER_FILE = 200_000

# Why a file that holds something is not read.
_UNREAD = (Why.DAMAGED, Why.UNSUPPORTED, Why.FAILED, Why.DENIED, Why.CUT)


@dataclass(frozen=True)
class _Seen:
    """A thread, who wrote it down, and in which dump of which file."""

    thread: PythonThread
    engine: str
    dump: tuple[str, int]
    first: bool = False  # it is called the first of its process


@dataclass
class _Being:
    """One process while files are joined; ``moments`` holds its threads per look."""

    process: Process
    python: list[dict[Any, _Seen]] = field(default_factory=list)
    native: list[dict[Any, _Seen]] = field(default_factory=list)
    recorders: list[Recorder] = field(default_factory=list)
    kernel: list[Threads] = field(default_factory=list)

    def take(self, other: _Being) -> None:
        """Add what another tool saw of the same process.

        Two tools name one Python frame in two ways, so that one of them is enough: who looked more often, else who knew the pid.
        What one tool wrote of the same threads without a head is a further look of it. Native frames of a debugger reach further
        down than those of a Python profiler, and are kept beside them.
        """
        if _one_tool(self.python, other.python):
            self.python = [*self.python, *other.python]
        else:
            self.python = max(self.python, other.python, key=len)
        self.native, more = sorted((self.native, other.native), key=len, reverse=True)
        for at, seen in enumerate(_all(more)):
            self.native[0]["again", at] = seen


def _one_tool(some: list[dict[Any, _Seen]], others: list[dict[Any, _Seen]]) -> bool:
    """Whether one tool wrote both down, of threads that have the same numbers."""
    engines = {seen.engine for seen in (*_all(some), *_all(others))}
    mine, its = ({seen.thread.tid for seen in _all(moments)} - {None} for moments in (some, others))
    return len(engines) == 1 and not mine.isdisjoint(its)


class Joiner:
    """Finds for every thread the process it belongs to, and for every process its moments."""

    def __init__(self) -> None:
        self._beings: dict[Any, _Being] = {}
        self._next_pid = 1
        self._items: list[Item] = []
        self._gaps: list[Gap] = []

    def join(self, found: list[FileEvidence], snapshots: list[Snapshot]) -> Snapshot:
        self._gaps = [gap for one in found for gap in one.gaps]
        found = looked_again.numbered(siblings.ranked(_told_apart(found)))
        placed = [(one, self._file(one)) for one in found]
        same = self._fold()
        same.update(self._number())
        for one, about in placed:
            refs = list(dict.fromkeys(same.get(ref, ref) for ref in about))
            self._items.extend(Item(None, report) for report in one.reports if not isinstance(report, Threads))
            if one.events:
                self._items.append(Item(refs[0] if len(refs) == 1 else None, Events(tuple(_named(one)))))
        self._gaps.extend(self._recorders(found))
        # Where nothing was read, names of files alone show nobody.
        processes = tuple(being.process for being in self._beings.values()) if any(found) else ()
        return _with(self._snapshot(processes), snapshots)

    def _file(self, one: FileEvidence) -> list[ProcessRef]:
        """Place all threads of a file; the processes it is about."""
        refs: dict[ProcessRef, None] = {}
        room, left_out = STACKS_PER_FILE, 0
        for number, dump in enumerate(of_tasks(with_pids(one.dumps))):
            ranks = _ranks(dump, one.who)
            left_out += max(0, len(ranks) - room)
            for rank in itertools.islice(ranks, room):
                room -= 1
                being = self._being(one, dump.pid if dump.pid is not None else one.who.pid, rank, dump)
                self._place(being, dump, one, number)
                refs[being.process.ref] = None
        if left_out:
            self._gaps.append(Gap(one.source.name, Why.CUT, f"{left_out} more stacks of ranks left out"))
        noted = [report for report in one.reports if isinstance(report, Threads)]
        alone = len(one.who.ranks) == 1 and len({report.threads[0].tid for report in noted}) == 1
        for report in noted:
            being = self._being(one, report.threads[0].tid, next(iter(one.who.ranks)) if alone else None, None)
            being.kernel.append(report)
            refs[being.process.ref] = None
        if not one.dumps and not refs:
            for rank in one.who.ranks:
                refs[self._being(one, one.who.pid, rank, None).process.ref] = None
        return list(refs)

    def _fold(self) -> dict[ProcessRef, ProcessRef]:
        """Stacks of a rank by a tool that writes no pid are those of its process, if one is known: which process each became."""
        known: dict[tuple[str, int], list[_Being]] = {}
        for being in self._beings.values():
            if being.process.rank is not None and being.process.ref.started != UNNUMBERED and _of_a_rank(being):
                known.setdefault((being.process.ref.host, being.process.rank), []).append(being)
        same: dict[ProcessRef, ProcessRef] = {}
        for key, being in list(self._beings.items()):
            process = being.process
            if process.rank is None or process.ref.started != UNNUMBERED or not _of_a_rank(being):
                continue
            its = known.get((process.ref.host, process.rank), [])
            if len(its) > 1:
                # Some are children that have the rank's name. A debugger numbers the first thread as the process.
                threads = {seen.thread.tid for seen in _all((*being.python, *being.native))}
                its = [one for one in its if one.process.ref.pid in threads]
            if len(its) == 1:
                its[0].take(being)
                same[process.ref] = its[0].process.ref
                del self._beings[key]
        return same

    def _number(self) -> dict[ProcessRef, ProcessRef]:
        """Give processes of dumps without pids the number of their main thread: which process each became."""
        taken = {(being.process.ref.host, being.process.ref.pid) for being in self._beings.values() if _numbered(being)}
        asked: dict[tuple[str, int], list[_Being]] = {}
        for being in self._beings.values():
            number = leader((seen.thread, seen.first) for seen in _all((*being.python, *being.native)))
            if number is not None and not _numbered(being):
                asked.setdefault((being.process.ref.host, number), []).append(being)
        same: dict[ProcessRef, ProcessRef] = {}
        for key, beings in asked.items():
            if len(beings) == 1 and key not in taken:  # hosts without names may each have a process of this number
                old = beings[0].process
                beings[0].process = replace(old, ref=ProcessRef(*key))
                same[old.ref] = beings[0].process.ref
        return same

    def _recorders(self, found: list[FileEvidence]) -> list[Gap]:
        """Give every recorder to its rank; a rank that has two was dumped at two moments."""
        files = {one.source.name: one for one in found}
        read = [(one.source.name, recorder) for one in found for recorder in one.recorders]
        damaged = [one.source.name for one in found if not one and any(gap.why in _UNREAD for gap in one.gaps)]
        unread = recorder_files.unread([name for name, _ in read], damaged)
        dumped = recorder_files.ranked([*read, *unread])
        kept, gaps = recorder_files.of_one_run(recorder_files.without_what_was_read(dumped))
        of_ranks = self._of_ranks()
        for one in kept:
            being = of_ranks.get(one.rank) if one.rank is not None else None
            being = being or self._being(files[one.name], None, one.rank, None)
            if being.process.role is Role.RANK and being.process.rank == one.rank is not None:
                of_ranks[one.rank] = being
            if being.recorders and _same_moment(being.recorders[-1], one.recorder):
                being.recorders[-1] = max(being.recorders[-1], one.recorder, key=_sited)
            else:
                being.recorders.append(one.recorder)
        if read and not any(len(recorder.entries) for _, recorder in read):
            gaps.append(
                Gap(
                    "recorder",
                    Why.MISSING,
                    "the ring of every dump is empty: it was switched off, or nothing was called",
                )
            )
        unlike = {gap.what for one in found for gap in one.gaps if gap.why is Why.UNSUPPORTED}
        gaps.extend(
            Gap(name, Why.DAMAGED, "named like the dumps beside it, and none") for name, _ in unread if name in unlike
        )
        return gaps

    def _of_ranks(self) -> dict[int, _Being]:
        """The process of each rank: of several, the first with stacks, whose pid is known."""
        found: dict[int, _Being] = {}
        for one in self._beings.values():
            rank = one.process.rank
            if one.process.role is Role.RANK and rank is not None:
                before = found.setdefault(rank, one)
                if (one.python or one.native) and not (before.python or before.native):
                    found[rank] = one
        return found

    def _being(self, one: FileEvidence, pid: int | None, rank: int | None, dump: Dump | None) -> _Being:
        host = (dump.host if dump else None) or UNKNOWN_HOST
        main = dump.main if dump and pid is None and rank is None else None
        role = _role(one, rank, dump)
        key: tuple[Any, ...] = ("file", one.source.name, main)
        if rank is not None:
            key = ("rank", host, rank, role)
        if pid is not None:
            key = ("pid", host, pid)
        being = self._beings.get(key)
        if being is not None and rank is not None and being.process.rank not in (None, rank):
            key = (*key, rank)  # two hosts, of which nobody said the names, have a process of this number each
            being = self._beings.get(key)
        if being is None:
            ref = ProcessRef(host, pid) if pid is not None else ProcessRef(host, self._free_pid(), UNNUMBERED)
            process = Process(
                ref=ref, role=role, rank=rank,
                label=(one.who.text or one.source.name) + (f", main thread {main}" if main else ""),
                command=tuple((dump.command or "").split()) if dump else (), python=dump.python if dump else None,
            )  # fmt: skip
            being = self._beings[key] = _Being(process)
        return being

    def _free_pid(self) -> int:
        self._next_pid += 1
        return self._next_pid - 1

    def _place(self, being: _Being, dump: Dump, one: FileEvidence, number: int) -> None:
        python = Stack(frame for frame in dump.thread.stack if frame.library is None)
        if dump.native and python and len(python) < len(dump.thread.stack):
            self._place(being, replace(dump, native=False, thread=replace(dump.thread, stack=python)), one, number)
        moments = being.native if dump.native else being.python
        seen = _Seen(dump.thread, dump.engine, (one.source.name, dump.order), dump.first)
        identity = dump.thread.tid or dump.thread.ident or dump.thread.name or None
        before = moments[-1].get(identity) if moments and identity is not None else None
        # Threads that share a name in one dump are several threads, not one thread seen twice.
        namesakes = before is not None and identity == dump.thread.name and before.dump == seen.dump
        # A tool that differs begins another moment, so that the first thread of one speaks for all.
        other = bool(moments) and any(
            there.engine != seen.engine for there in itertools.islice(moments[-1].values(), 1)
        )
        if not moments or other or (before is not None and not namesakes) or (one.who.later and number == 0):
            moments.append({})
        key = identity if identity is not None and not namesakes else ("unnamed", len(moments[-1]))
        moments[-1][key] = seen

    def _snapshot(self, processes: tuple[Process, ...]) -> Snapshot:
        present = tuple(process.ref for process in processes)
        depth = max(
            [1, *(max(len(b.python), len(b.native), len(b.recorders), len(b.kernel)) for b in self._beings.values())]
        )
        sweeps = [Sweep(at, float(at), present, tuple(self._look(at))) for at in range(depth)]
        sweeps[0] = replace(sweeps[0], items=sweeps[0].items + tuple(self._items))
        return Snapshot(Job(FILES), processes=processes, sweeps=tuple(sweeps), gaps=tuple(self._gaps), live=False)

    def _look(self, at: int) -> Iterator[Item]:
        for being in self._beings.values():
            for moments, record in ((being.python, PythonStacks), (being.native, NativeStacks)):
                if at < len(moments) and moments[at]:
                    held = list(moments[at].values())
                    threads = tuple(seen.thread for seen in held)
                    yield Item(being.process.ref, record(threads, engine=held[0].engine))
            if at < len(being.recorders):
                yield Item(being.process.ref, being.recorders[at])
            if at < len(being.kernel):
                yield Item(being.process.ref, being.kernel[at])


def _told_apart(found: list[FileEvidence]) -> list[FileEvidence]:
    """The same files, where one shows several processes with whatever tells these apart."""
    ranked = apart.of_local_ranks([one.dumps for one in found])
    return [replace(one, dumps=apart.of_main_threads(dumps)) for one, dumps in zip(found, ranked)]


def _numbered(being: _Being) -> bool:
    """Whether it is known by a number of its own."""
    return being.process.ref.started != UNNUMBERED


def _of_a_rank(being: _Being) -> bool:
    """Whether stacks were seen of a rank itself, and not of a child of it."""
    return being.process.role is Role.RANK and bool(being.python or being.native)


def _all(moments: Iterable[dict[Any, _Seen]]) -> Iterator[_Seen]:
    return (seen for moment in moments for seen in moment.values())


def _ranks(dump: Dump, who: Who) -> Collection[int | None]:
    """The ranks that a stack is of, by the dump or by the file's name; the one rank None where nobody names any."""
    if dump.rank is not None:
        return (dump.rank,)
    ranks = dump.ranks or (who.ranks if dump.pid is None or len(who.ranks) == 1 else ())
    return ranks or (None,)


def _named(one: FileEvidence) -> Iterator[Event]:
    """The events of a file; where a line does not say whose it is, the file's name does, if it names one rank."""
    rank = next(iter(one.who.ranks)) if len(one.who.ranks) == 1 else None
    for event in one.events:
        yield event if event.rank is not None or rank is None else replace(event, rank=rank)


def _role(one: FileEvidence, rank: int | None, dump: Dump | None) -> Role:
    """What a process of a file is: by the file's name, and by what is in the dump."""
    role = one.who.role or (Role.RANK if rank is not None else Role.OTHER)
    if role is Role.LAUNCHER and dump is not None and dump.rank is not None:
        role = Role.RANK  # the file is called after the launcher that collected the output of ranks
    if role is Role.RANK and dump is not None and _loads(dump):
        role = Role.DATALOADER_WORKER  # it has its rank's environment, by which somebody named its file
    return role


def _loads(dump: Dump) -> bool:
    """Whether a stack is that of a loader's worker (torch/utils/data/_utils/worker.py)."""
    return any(frame.function == "_worker_loop" for frame in dump.thread.stack)


def _same_moment(one: Recorder, other: Recorder) -> bool:
    """Are these the pickle and the JSON of one dump? JSON has no call sites, all else is equal."""
    same = (len(one.entries), newest(one)) == (len(other.entries), newest(other)) and _sited(one) != _sited(other)
    return same and all((a.id, a.state, a.done) == (b.id, b.state, b.done) for a, b in zip(one.entries, other.entries))


def _sited(recorder: Recorder) -> bool:
    """Does it say where calls were made?"""
    return any(entry.frames for entry in recorder.entries[-50:])


def _with(joined: Snapshot, others: list[Snapshot]) -> Snapshot:
    """Snapshots that lay beside other files: their processes and sweeps are put to the joined ones."""
    for other in others:
        joined = replace(
            joined,
            hosts=joined.hosts + other.hosts,
            processes=joined.processes + other.processes,
            sweeps=tuple(_beside(joined.sweeps, other.sweeps)),
            gaps=joined.gaps + other.gaps,
        )
    return joined


def _beside(mine: tuple[Sweep, ...], theirs: tuple[Sweep, ...]) -> Iterator[Sweep]:
    for at in range(max(len(mine), len(theirs))):
        if at >= len(mine):
            yield replace(theirs[at], index=at)
        elif at >= len(theirs):
            yield mine[at]
        else:
            yield replace(
                mine[at], present=mine[at].present + theirs[at].present, items=mine[at].items + theirs[at].items
            )
