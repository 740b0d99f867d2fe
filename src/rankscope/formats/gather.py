"""Files in any mix → one snapshot: every file is read by content, and joined by rank, pid and host.

The rank comes from content, else from the file's name. Two dumps of one thread are two moments.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..analysis.accounts import stem
from ..analysis.labels import Who, who
from ..errors import RankscopeError
from ..model.evidence.events import Event, Events
from ..model.evidence.ras import RasReport
from ..model.evidence.recorder import Recorder
from ..model.evidence.stacks import NativeStacks, PythonStacks, PythonThread, Stack
from ..model.evidence.store import StoreKeys
from ..model.gap import Gap, Why
from ..model.process import Process, ProcessRef, Role
from ..model.snapshot import Item, Job, Snapshot, Sweep
from . import error_json, flight_recorder, names, pyspy_json, ras, store_keys
from . import snapshot as own
from .files import STDIN, Source, head_of, is_text, open_source, sources, text_lines
from .records import Dump, Record, Version
from .sieve import WORTH_BYTES, sieve
from .subjects import with_pids
from .text import TextReader

UNKNOWN_HOST = "file"
# Beyond these a file says the same again and again; what is left out is told as a gap.
EVENTS_PER_KIND = 5000
DUMPS_PER_FILE = 200_000
WHOLE_LIMIT = 256 << 20
SMALL_BYTES = 1 << 20

Progress = Callable[[str, int], None]


@dataclass
class FileEvidence:
    """All that one file said."""

    source: Source
    who: Who
    dumps: list[Dump] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    recorders: list[Recorder] = field(default_factory=list)
    reports: list[RasReport | StoreKeys] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)


def gather(paths: Iterable[str | Path], progress: Progress | None = None) -> Snapshot:
    """One snapshot of everything the files hold; a single snapshot file comes back as it is."""
    found: list[FileEvidence] = []
    snapshots: list[Snapshot] = []
    pool = flight_recorder.Pool()
    for source in sources(paths):
        if progress is not None:
            progress(source.name, 0)
        read = _read(source, pool=pool)
        if isinstance(read, Snapshot):
            snapshots.append(read)
        else:
            found.append(read)
    if len(snapshots) == 1 and not any(one.dumps or one.events or one.recorders or one.reports for one in found):
        return snapshots[0]
    return _Joiner().join(found, snapshots)


def events(paths: Iterable[str | Path]) -> Iterator[Event]:
    """Everything the files say in the vocabulary of events, file by file, as it is read."""
    for source in sources(paths):
        read = _read(source, small=False)
        if not isinstance(read, Snapshot):
            yield from read.events


def _read(
    source: Source, small: bool | None = None, pool: flight_recorder.Pool | None = None
) -> FileEvidence | Snapshot:
    evidence = FileEvidence(replace(source, data=None), who(stem(source.name)))
    try:
        with open_source(source) as stream:
            head = head_of(stream)
            if own.recognises(head):
                return own.read(stream)
            if flight_recorder.recognises(head):
                _keep(evidence, flight_recorder.read(stream.read(WHOLE_LIMIT), source.name, pool))
                return evidence
            if not is_text(head):
                evidence.gaps.append(Gap(source.name, Why.UNSUPPORTED, "neither text nor a format that is known"))
                return evidence
            start = head[:4096].decode("utf-8", "replace")
            for module in (pyspy_json, error_json):
                if module.recognises(start):
                    _take(evidence, module.read(stream.read(WHOLE_LIMIT).decode("utf-8", "replace")))
                    return evidence
            if store_keys.recognises(head):
                _keep(evidence, store_keys.read(stream.read(WHOLE_LIMIT), source.name))
                return evidence
            if ras.recognises(head):
                data = stream.read(WHOLE_LIMIT)
                _keep(evidence, ras.read(data, source.name))
                _take(evidence, _text(data.decode("utf-8", "replace").splitlines(), len(data) <= SMALL_BYTES))
                return evidence
            if (
                source.data is not None
                or head[:2] == b"\x1f\x8b"
                or source.path == STDIN
                or _size(source) < WORTH_BYTES
            ):
                pass
            elif (sieved := _sieved(source)) is not None:
                _take(evidence, sieved)
                return evidence
            if small is None:
                small = _size(source) <= SMALL_BYTES
            _take(evidence, _text(text_lines(stream), small))
    except RankscopeError:
        raise
    except OSError as error:
        evidence.gaps.append(
            Gap(source.name, Why.DENIED if isinstance(error, PermissionError) else Why.FAILED, str(error))
        )
    return evidence


def _keep(evidence: FileEvidence, record: Recorder | RasReport | StoreKeys | Gap) -> None:
    if isinstance(record, Recorder):
        evidence.recorders.append(record)
    elif isinstance(record, (RasReport, StoreKeys)):
        evidence.reports.append(record)
    else:
        evidence.gaps.append(record)


def _text(lines: Iterable[str], small: bool) -> Iterator[Record]:
    reader = TextReader(small)
    for number, line in enumerate(lines, 1):
        yield from reader.feed(number, line)
    yield from reader.close()


def _sieved(source: Source) -> Iterator[Record] | None:
    """The records of a big file, of which only the lines that matter are read; None where there is no grep."""
    if shutil.which("grep") is None:
        return None
    return _from_sieve(source)


def _from_sieve(source: Source) -> Iterator[Record]:
    reader = TextReader(small=False)
    for numbered in sieve(source.path):
        if numbered is None:
            yield from reader.gap()
        else:
            yield from reader.feed(*numbered)
    yield from reader.close()


def _take(evidence: FileEvidence, records: Iterable[Record]) -> None:
    counts: dict[str, int] = {}
    stacks: dict[Stack, Stack] = {}
    for record in records:
        if isinstance(record, Event):
            counts[record.event] = counts.get(record.event, 0) + 1
            if counts[record.event] <= EVENTS_PER_KIND:
                evidence.events.append(replace(record, file=evidence.source.name))
        elif isinstance(record, Dump) and len(evidence.dumps) < DUMPS_PER_FILE:
            stack = stacks.setdefault(record.thread.stack, record.thread.stack)
            evidence.dumps.append(replace(record, thread=replace(record.thread, stack=stack)))
        elif isinstance(record, Version):
            continue
    evidence.events.sort(key=lambda event: event.line)
    for name, count in counts.items():
        if count > EVENTS_PER_KIND:
            detail = f"{count - EVENTS_PER_KIND} more {name} left out"
            evidence.gaps.append(Gap(evidence.source.name, Why.SKIPPED, detail))


def _size(source: Source) -> int:
    if source.data is not None:
        return len(source.data)
    try:
        return os.stat(source.path).st_size
    except OSError:
        return 0


@dataclass
class _Being:
    """One process while files are joined; ``moments`` holds its threads per look."""

    process: Process
    python: list[dict[Any, tuple[PythonThread, str]]] = field(default_factory=list)
    native: list[dict[Any, tuple[PythonThread, str]]] = field(default_factory=list)
    recorders: list[Recorder] = field(default_factory=list)


class _Joiner:
    """Finds for every thread the process it belongs to, and for every process its moments."""

    def __init__(self) -> None:
        self._beings: dict[Any, _Being] = {}
        self._next_pid = 1
        self._items: list[Item] = []

    def join(self, found: list[FileEvidence], snapshots: list[Snapshot]) -> Snapshot:
        gaps = [gap for one in found for gap in one.gaps]
        for one in found:
            refs = self._file(one)
            self._items.extend(Item(None, report) for report in one.reports)
            if one.events:
                self._items.append(Item(refs[0] if len(refs) == 1 else None, Events(tuple(one.events))))
        self._recorders(found)
        processes = tuple(being.process for being in self._beings.values())
        return _with(self._snapshot(processes, gaps), snapshots)

    def _file(self, one: FileEvidence) -> list[ProcessRef]:
        """Place all threads of a file; the processes it is about."""
        refs: dict[ProcessRef, None] = {}
        seen_native_only = 0
        for number, dump in enumerate(with_pids(one.dumps)):
            ranks = (
                (dump.rank,)
                if dump.rank is not None
                else tuple(one.who.ranks)
                if dump.pid is None or len(one.who.ranks) == 1
                else ()
            )
            for rank in ranks or (None,):
                being = self._being(one, dump.pid if dump.pid is not None else one.who.pid, rank, dump)
                self._place(being, dump, one.who.later, number)
                refs[being.process.ref] = None
            seen_native_only += dump.native
        if not one.dumps:
            for rank in one.who.ranks:
                refs[self._being(one, one.who.pid, rank, None).process.ref] = None
        return list(refs)

    def _recorders(self, found: list[FileEvidence]) -> None:
        """Give every recorder to its rank; a rank that has two was dumped at two moments."""
        held = [(one, recorder) for one in found for recorder in one.recorders]
        by_name = names.rank_from_names([one.source.name for one, recorder in held if recorder.rank is None])
        held.sort(key=lambda pair: (_newest(pair[1]), pair[0].source.name))
        for one, recorder in held:
            rank = recorder.rank if recorder.rank is not None else by_name.get(one.source.name)
            being = next(
                (
                    b
                    for b in self._beings.values()
                    if rank is not None and b.process.rank == rank and b.process.role is Role.RANK
                ),
                None,
            )
            (being or self._being(one, None, rank, None)).recorders.append(recorder)

    def _being(self, one: FileEvidence, pid: int | None, rank: int | None, dump: Dump | None) -> _Being:
        host = (dump.host if dump else None) or UNKNOWN_HOST
        role = one.who.role or (Role.RANK if rank is not None else Role.OTHER)
        key: Any = (
            ("pid", host, pid)
            if pid is not None
            else ("rank", host, rank, role)
            if rank is not None
            else ("file", one.source.name)
        )
        being = self._beings.get(key)
        if being is None:
            ref = ProcessRef(host, pid if pid is not None else self._free_pid(), 0)
            process = Process(
                ref=ref, role=role, rank=rank, label=one.who.text or one.source.name,
                command=tuple((dump.command or "").split()) if dump else (), python=dump.python if dump else None,
            )  # fmt: skip
            being = self._beings[key] = _Being(process)
        return being

    def _free_pid(self) -> int:
        self._next_pid += 1
        return self._next_pid - 1

    def _place(self, being: _Being, dump: Dump, later: bool, number: int) -> None:
        python = Stack(frame for frame in dump.thread.stack if frame.library is None)
        if dump.native and python and len(python) < len(dump.thread.stack):
            self._place(being, replace(dump, native=False, thread=replace(dump.thread, stack=python)), later, number)
        moments = being.native if dump.native else being.python
        identity = dump.thread.tid or dump.thread.name or None
        at = len(moments) - 1
        same = at >= 0 and identity is not None and identity in moments[at]
        if at < 0 or same or (later and number == 0):
            moments.append({})
            at += 1
        key = identity if identity is not None else ("unnamed", len(moments[at]))
        moments[at][key] = (dump.thread, dump.engine)

    def _snapshot(self, processes: tuple[Process, ...], gaps: list[Gap]) -> Snapshot:
        present = tuple(process.ref for process in processes)
        depth = max([1, *(max(len(b.python), len(b.native), len(b.recorders)) for b in self._beings.values())])
        sweeps = [Sweep(at, float(at), present, tuple(self._look(at))) for at in range(depth)]
        sweeps[0] = replace(sweeps[0], items=sweeps[0].items + tuple(self._items))
        return Snapshot(Job("files"), processes=processes, sweeps=tuple(sweeps), gaps=tuple(gaps), live=False)

    def _look(self, at: int) -> Iterator[Item]:
        for being in self._beings.values():
            for moments, record in ((being.python, PythonStacks), (being.native, NativeStacks)):
                if at < len(moments) and moments[at]:
                    held = list(moments[at].values())
                    threads = tuple(thread for thread, _ in held)
                    yield Item(being.process.ref, record(threads, engine=held[0][1]))
            if at < len(being.recorders):
                yield Item(being.process.ref, being.recorders[at])


def _newest(recorder: Recorder) -> int:
    return max((entry.created_ns for entry in recorder.entries[-50:]), default=0)


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
