"""Our own snapshots: read back what ``model.wire`` wrote, typed, whole or broken off.

Unknown kinds of lines and evidence (a newer rankscope wrote them) become gaps; damage never loses what is readable.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Callable, TypeVar

import msgspec

from ..errors import RankscopeError
from ..model.evidence import kind
from ..model.evidence.recorder_dump import RecorderDump
from ..model.evidence.stacks import Frame, Stack
from ..model.gap import Gap, Why
from ..model.process import Process, ProcessRef
from ..model.snapshot import SCHEMA, VERSION, Effort, Host, Item, Job, Snapshot, Sweep

T = TypeVar("T")

# A snapshot line holds one record of one process; a recorder of 2,000 entries is about a megabyte. A megabyte that was packed
# may unpack to a line of gigabytes.
LINE_LIMIT = 64 << 20
# A few of each rank of the largest job, which rules may need; of lines that cannot be read, some kilobytes are a thousand.
MOST_GAPS = 1 << 19
MOST_UNREAD = 10_000


_TORN = Gap("the snapshot", Why.DAMAGED, "it breaks off: its last lines are missing")


class Unreadable(RankscopeError):
    """Nothing can be read of a snapshot: the whole request where there is nothing else, beside other files a gap."""

    def __init__(self, why: Why, what: str, because: str, hint: str = "") -> None:
        super().__init__(what, because, hint)
        self.why = why


class _Line(msgspec.Struct):
    is_: str = msgspec.field(name="is")


class _Header(msgspec.Struct):
    schema: str = ""
    version: int = 0
    made_by: str = ""
    live: bool = True
    job: msgspec.Raw = msgspec.Raw(b"{}")
    hosts: tuple[Host, ...] = ()


class _Evidence(msgspec.Struct):
    of: str
    data: msgspec.Raw = msgspec.Raw(b"{}")
    process: str | None = None


class _Stack(msgspec.Struct):
    id: int
    frames: tuple[tuple[Any, ...], ...]


class _Sweep(msgspec.Struct):
    index: int
    at_s: float


class _Present(msgspec.Struct):
    processes: tuple[str, ...]


class _Slept(msgspec.Struct):
    seconds: float


class _End(msgspec.Struct):
    effort: Effort
    complete: bool = True


def recognises(head: bytes) -> bool:
    """Whether a file that begins so is a snapshot (of any version)."""
    return head.lstrip()[:200].startswith(b'{"is":"snapshot"') and SCHEMA.encode() in head[:400]


class Reader:
    """Takes lines one at a time and builds the snapshot; ``snapshot()`` gives what has come so far."""

    def __init__(self) -> None:
        self._stacks: dict[int, Stack] = {}
        self._frames: dict[tuple[Any, ...], Frame] = {}
        self._decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
        self._latest: dict[tuple[ProcessRef, str], Any] = {}
        self._refs: dict[str, ProcessRef] = {}
        self.header: _Header | None = None
        self._first = b""  # of what came before a header
        self._job = Job(launcher="unknown")
        self._processes: dict[ProcessRef, Process] = {}
        self._sweeps: list[tuple[_Sweep, list[ProcessRef], list[Item]]] = []
        self._gaps: list[Gap] = []
        self._unread = 0  # lines
        self._slept_s = 0.0
        self._end: _End | None = None
        self._takers: dict[str, Callable[[bytes], None]] = {
            "snapshot": self._take_header, "process": self._take_process, "sweep": self._take_sweep,
            "present": self._take_present, "stack": self._take_stack, "evidence": self._take_evidence,
            "same": self._take_same, "gap": self._take_gap, "slept": self._take_slept, "end": self._take_end,
        }  # fmt: skip

    def introduce(
        self, job: Job, hosts: tuple[Host, ...], processes: tuple[Process, ...], gaps: tuple[Gap, ...] = ()
    ) -> None:
        """Take what the first lines would say, for a look that is taken here and now."""
        self.header = _Header(SCHEMA, VERSION, hosts=hosts)
        self._job = job
        self._processes.update((process.ref, process) for process in processes)
        self._gaps.extend(gaps)

    def feed(self, line: bytes) -> None:
        """Take one line; what cannot be read becomes a gap."""
        if not line.strip():
            return
        if self.header is None:
            self._first = self._first or line[:400]
        if len(line) >= LINE_LIMIT:
            self._gap("a line of the snapshot", Why.DAMAGED, f"longer than {LINE_LIMIT >> 20} MB; left out")
            return
        try:
            name = self._decode(line, _Line).is_
            taker = self._takers.get(name)
            if taker is None:
                self._gap(f"line of kind {name[:40]!r}", Why.UNSUPPORTED, "written by a newer rankscope; left out")
            else:
                taker(line)
        except (msgspec.MsgspecError, ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
            self._gap("a line of the snapshot", Why.DAMAGED, str(error)[:200])

    @property
    def ended(self) -> bool:
        """Whether all has come: the last line says so."""
        return self._end is not None

    @property
    def sweeps(self) -> int:
        """How many have begun."""
        return len(self._sweeps)

    def snapshot(self) -> Snapshot:
        """All that has been read so far."""
        if self.header is None:
            raise self._headless()
        sweeps = tuple(
            Sweep(head.index, head.at_s, tuple(present), tuple(items)) for head, present, items in self._sweeps
        )
        return Snapshot(
            job=self._job, hosts=self.header.hosts, processes=tuple(self._processes.values()), sweeps=sweeps,
            gaps=tuple(self._gaps), effort=self._effort(), live=self.header.live,
            complete=bool(self._end and self._end.complete),
        )  # fmt: skip

    def _headless(self) -> Unreadable:
        if recognises(self._first):
            return Unreadable(Why.DAMAGED, "this snapshot is damaged", f"its first line: {self._gaps[0].detail}")
        return Unreadable(
            Why.DAMAGED, "this is not a snapshot", "its first line does not say so", "rankscope analyze FILE"
        )

    def _take_header(self, line: bytes) -> None:
        header = self._decode(line, _Header)
        if header.schema != SCHEMA:
            raise ValueError(f"schema {header.schema[:40]!r}")
        if header.version > VERSION:
            raise Unreadable(
                Why.UNSUPPORTED, f"this snapshot has version {header.version}; this rankscope reads up to {VERSION}",
                f"it was written by {header.made_by[:60] or 'a newer rankscope'}",
                "upgrade rankscope here, or let it judge the file where that was made",
            )  # fmt: skip
        self.header = header
        self._job = self._decode(bytes(header.job), Job)

    def _take_process(self, line: bytes) -> None:
        process = self._decode(line, Process)
        self._processes[process.ref] = process

    def _take_sweep(self, line: bytes) -> None:
        self._sweeps.append((self._decode(line, _Sweep), [], []))

    def _take_present(self, line: bytes) -> None:
        self._sweeps[-1][1].extend(map(self._ref, self._decode(line, _Present).processes))

    def _take_stack(self, line: bytes) -> None:
        stack = self._decode(line, _Stack)
        self._stacks[stack.id] = Stack(map(self._frame, stack.frames))

    def _take_evidence(self, line: bytes) -> None:
        body = self._decode(line, _Evidence)
        process = self._ref(body.process) if body.process is not None else None
        cls = kind(body.of)
        if cls is None:
            self._gap(body.of[:60], Why.UNSUPPORTED, "a kind of evidence of a newer rankscope; left out", process)
            return
        record = self._decode(bytes(body.data), cls)
        if isinstance(record, RecorderDump):
            from . import recorder_told  # seldom met

            record = recorder_told.read(record)
            if isinstance(record, Gap):
                self._note(replace(record, process=process))
                return
        if process is not None:
            self._latest[process, body.of] = record
        self._sweeps[-1][2].append(Item(process, record))

    def _take_same(self, line: bytes) -> None:
        body = self._decode(line, _Evidence)
        process = self._ref(body.process or "")
        self._sweeps[-1][2].append(Item(process, self._latest[process, body.of]))

    def _take_gap(self, line: bytes) -> None:
        self._note(self._decode(line, Gap))

    def _take_slept(self, line: bytes) -> None:
        self._slept_s += self._decode(line, _Slept).seconds

    def _take_end(self, line: bytes) -> None:
        self._end = self._decode(line, _End)

    def _effort(self) -> Effort:
        """What its end says, and the sleep that was told of as it came."""
        effort = self._end.effort if self._end else Effort()
        return replace(effort, slept_s=round(effort.slept_s + self._slept_s, 3))

    def _gap(self, what: str, why: Why, detail: str, process: ProcessRef | None = None) -> None:
        self._unread += 1
        if self._unread <= MOST_UNREAD:
            self._note(Gap(what, why, detail, process=process))

    def _note(self, gap: Gap) -> None:
        if len(self._gaps) < MOST_GAPS:
            self._gaps.append(gap)
        elif len(self._gaps) == MOST_GAPS:
            self._gaps.append(Gap("gaps", Why.CUT, f"there are more than {MOST_GAPS}; the rest is left out"))

    def _ref(self, key: str) -> ProcessRef:
        found = self._refs.get(key)
        if found is None:
            found = self._refs[key] = ProcessRef.parse(key)
        return found

    def _frame(self, parts: tuple[Any, ...]) -> Frame:
        found = self._frames.get(parts)
        if found is None:
            function, file, line, *library = parts
            found = Frame(str(function), str(file), int(line), str(library[0]) if library else None)
            self._frames[parts] = found
        return found

    def _decode(self, data: bytes, cls: type[T]) -> T:
        decoder = self._decoders.get(cls)
        if decoder is None:
            decoder = self._decoders[cls] = msgspec.json.Decoder(cls, dec_hook=self._hook)
        return decoder.decode(data)  # type: ignore[no-any-return]

    def _hook(self, cls: type, value: Any) -> Any:
        if cls is Stack:
            return self._stacks[value]
        raise NotImplementedError(cls)


def read(lines: Iterable[bytes]) -> Snapshot:
    """A snapshot from its lines, cut at the limit; raise Unreadable when it is none, or from a newer version."""
    reader = Reader()
    for line in lines:
        reader.feed(line)
        if reader.header is None:
            break
    found = reader.snapshot()
    return found if reader.ended else replace(found, gaps=(*found.gaps, _TORN))
