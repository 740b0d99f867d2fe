"""One file → what it says: its content decides who reads it; texts are read line by line, big ones through the sieve."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Union

from ..model.evidence.events import Event
from ..model.evidence.ras import RasReport
from ..model.evidence.recorder import Recorder
from ..model.evidence.stacks import Stack
from ..model.evidence.store import StoreKeys
from ..model.evidence.threads import Threads
from ..model.gap import Gap, Why
from ..model.labels import Who, stem, who
from ..model.snapshot import Snapshot
from . import collected, dlrover, error_json, files, flight_recorder, process_facts, pyspy_json, ras, store_keys
from . import snapshot as own
from .documents import DOCUMENT, is_document, is_manual
from .files import Progress, Source, head_of, is_text, is_utf16, open_source, text_lines
from .kept import Between, Ends, joined
from .records import Dump, Record
from .sieve import sieve
from .text import TextReader

# Beyond these a file says the same again and again; what is left out is told as a gap.
EVENTS_PER_KIND = 5000
DUMPS_PER_FILE = 200_000
WHOLE_LIMIT = 256 << 20
SMALL_BYTES = 1 << 20
_ZSTD = b"\x28\xb5\x2f\xfd"  # RFC 8878

Said = Union[Record, Recorder, RasReport, StoreKeys, Threads, Gap]


@dataclass
class FileEvidence:
    """All that one file said."""

    source: Source
    who: Who
    dumps: list[Dump] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    recorders: list[Recorder] = field(default_factory=list)
    reports: list[RasReport | StoreKeys | Threads] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.dumps or self.events or self.recorders or self.reports)


@dataclass(frozen=True)
class Wish:
    """How a file is read: every line kept as text too (None: when it is small), calls shared by all recorders, who is told."""

    keep_lines: bool | None = None
    pool: flight_recorder.Pool | None = None
    progress: Progress | None = None


def read(source: Source, wish: Wish) -> FileEvidence | Snapshot:
    """What a file says; a snapshot of ours comes back as one. What cannot be read is a gap."""
    evidence = FileEvidence(replace(source, data=None), who(stem(source.name)))
    try:
        stream, tap = open_source(source, wish.progress)
        with stream:
            if own.recognises(head_of(stream)):
                return own.read(stream)
            _take(evidence, _said(stream, source.name, wish))
            if tap.damage is not None:
                evidence.gaps.append(Gap(source.name, Why.DAMAGED, f"it ends early: {tap.damage}"))
            frames = sum(len(dump.thread.stack) for dump in evidence.dumps)
            if not (evidence.recorders or evidence.reports) and (
                is_document(evidence.events, frames) or is_manual(evidence.events, frames)
            ):
                evidence.events.clear()
                evidence.dumps.clear()
                evidence.gaps.append(Gap(source.name, Why.SKIPPED, DOCUMENT))
    except OSError as error:
        why = Why.DENIED if isinstance(error, PermissionError) else Why.FAILED
        evidence.gaps.append(Gap(source.name, why, str(error)))
    return evidence


def _said(stream: io.BufferedReader, name: str, wish: Wish) -> Iterable[Said]:
    head = head_of(stream)
    if flight_recorder.recognises(head):
        return flight_recorder.read_all(stream.read(WHOLE_LIMIT), name, wish.pool)
    if dlrover.recognises(head):
        return dlrover.read(stream.read(WHOLE_LIMIT), name)
    if head.startswith(_ZSTD):
        return [
            Gap(
                name,
                Why.UNSUPPORTED,
                "it is packed with zstd; unpack it first: zstd -d FILE, or zstdcat FILE | rankscope analyze -",
            )
        ]
    if not is_text(head):
        return [Gap(name, Why.UNSUPPORTED, "neither text nor a format that is known")]
    if collected.recognises(head):
        data = stream.read(WHOLE_LIMIT)
        return _or_lines(data, _exported(data, wish.keep_lines), wish.keep_lines)
    for recognises, whole in _WHOLE:
        if recognises(head):
            data = stream.read(WHOLE_LIMIT)
            return _or_lines(data, whole(data, name), wish.keep_lines)
    return _text(stream, wish.keep_lines)


def _or_lines(data: bytes, said: Iterable[Said], keep_lines: bool | None) -> Iterator[Said]:
    """What a format says of a file; where that is nothing, its lines: a log in JSON begins like many another thing."""
    understood = False
    for one in said:
        understood = understood or not isinstance(one, Gap)
        yield one
    if not understood:
        yield from _text(io.BufferedReader(io.BytesIO(data), files.BUFFER), keep_lines)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _ras(data: bytes, name: str) -> Iterator[Said]:
    """A report, and the lines around it; JSON has none, and the names of its fields are no words of anybody."""
    report = ras.read(data, name)
    yield report
    if isinstance(report, Gap) or data.lstrip()[:1] != b"{":
        yield from _text(io.BufferedReader(io.BytesIO(data), files.BUFFER), None)


def _exported(data: bytes, keep_lines: bool | None) -> Iterator[Record]:
    """The lines of a log that came in one piece of JSON, numbered as they follow each other."""
    reader = TextReader(len(data) <= SMALL_BYTES if keep_lines is None else keep_lines)
    for number, one in enumerate(collected.exported(data), 1):
        for line in one.lines(number):
            yield from reader.take(line)
    yield from reader.close()


# Formats that are read in one piece, in the order in which they are tried.
_WHOLE: tuple[tuple[Callable[[bytes], bool], Callable[[bytes, str], Iterable[Said]]], ...] = (
    (lambda head: pyspy_json.recognises(_decoded(head[:4096])), lambda data, _: pyspy_json.read(_decoded(data))),
    (lambda head: error_json.recognises(_decoded(head[:4096])), lambda data, _: error_json.read(_decoded(data))),
    (store_keys.recognises, lambda data, name: [store_keys.read(data, name)]),
    (process_facts.recognises, process_facts.read),
    (ras.recognises, _ras),
)


def _text(stream: io.BufferedReader, keep_lines: bool | None) -> Iterator[Said]:
    """A small text line by line; of a bigger one what the sieve lets through, where it fills more than the buffer, and what is
    kept of long ones."""
    head = stream.peek()
    whole = len(head) < files.BUFFER
    small = whole and len(head) <= SMALL_BYTES if keep_lines is None else keep_lines
    if small:
        yield from _lines(text_lines(stream))
        return
    ends, between = Ends(), Between()
    sieved = None if is_utf16(head) or (whole and keep_lines is False) else sieve(stream, ends)
    if sieved is None:
        sieved = _seen(text_lines(stream), ends)
    reader = TextReader(small=False)
    for numbered in sieved:
        if numbered is None:
            yield from reader.gap()
        else:
            yield from reader.feed(*numbered)
            if reader.knows(numbered[1]):
                between.see(*numbered)
    yield from reader.close()
    for number, raw in joined(ends, between) if keep_lines is None else ():
        yield from reader.keep(number, raw)


def _lines(lines: Iterable[str]) -> Iterator[Record]:
    reader = TextReader()
    for number, line in enumerate(lines, 1):
        yield from reader.feed(number, line)
    yield from reader.close()


def _seen(lines: Iterable[str], ends: Ends) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines, 1):
        ends.see(line.encode())
        yield number, line


def _take(evidence: FileEvidence, said: Iterable[Said]) -> None:
    """Put everything where it belongs, within bounds; equal stacks are kept once."""
    counts: dict[str, int] = {}
    stacks: dict[Stack, Stack] = {}
    for one in said:
        if isinstance(one, Event):
            counts[one.event] = counts.get(one.event, 0) + 1
            if counts[one.event] <= EVENTS_PER_KIND:
                evidence.events.append(replace(one, file=evidence.source.name))
        elif isinstance(one, Dump):
            if len(evidence.dumps) < DUMPS_PER_FILE:
                stack = stacks.setdefault(one.thread.stack, one.thread.stack)
                evidence.dumps.append(replace(one, thread=replace(one.thread, stack=stack)))
        elif isinstance(one, Recorder):
            evidence.recorders.append(one)
        elif isinstance(one, Gap):
            evidence.gaps.append(one)
        else:
            evidence.reports.append(one)
    evidence.events.sort(key=lambda event: event.line)
    evidence.dumps.sort(key=lambda dump: dump.line)
    for name, count in counts.items():
        if count > EVENTS_PER_KIND and not name.startswith("text."):
            detail = f"{count - EVENTS_PER_KIND} more {name} left out"
            evidence.gaps.append(Gap(evidence.source.name, Why.SKIPPED, detail))
