"""One file → what it says: its content decides who reads it; texts are read line by line, big ones through the sieve."""

from __future__ import annotations

import io
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Union

from ..model.evidence.events import Event, left_out
from ..model.evidence.ras import RasReport
from ..model.evidence.recorder import Recorder
from ..model.evidence.store import StoreKeys
from ..model.evidence.threads import Threads
from ..model.gap import Gap, Why
from ..model.labels import Who, stem, who
from ..model.ranks import MOST_IN_A_JOB
from ..model.repeated import one_stack
from ..model.snapshot import Snapshot
from . import (
    collected,
    dlrover,
    error_json,
    files,
    flight_recorder,
    letters,
    notebook,
    packed,
    process_facts,
    pyspy_json,
    ras,
    store_keys,
    task_labels,
)
from . import snapshot as own
from .documents import DOCUMENT, is_document, is_manual
from .files import (
    Progress,
    Source,
    Stop,
    Tap,
    closed,
    cut_lines,
    head_of,
    is_by_lines,
    is_text,
    open_source,
    text_lines,
)
from .kept import Between, Ends, ends_of, joined
from .margin import margin_of
from .records import Dump, LeftOut, Record
from .sieve import Numbered, Unfinished, sieve
from .text import TextReader, plain
from .thinning import EVENTS_PER_KIND, Thinning
from .wrapped import whole_lines, width_of

# Beyond this a file says the same again and again; what is left out is told as a gap.
DUMPS_PER_FILE = 200_000
LAST_OF_A_KIND = 1000  # of the events beyond the bound
WHOLE_LIMIT = 256 << 20
SMALL_BYTES = 1 << 20
EXPORT_LIMIT = 32 << 20  # of JSON in one piece, which takes some ten times as much memory
_STOPPED = "interrupted: neither it nor what is behind it was read to its end"
_ZSTD = b"\x28\xb5\x2f\xfd"  # RFC 8878
_NO_TEXT = "neither text nor a format that is known"
_BEYOND = f"its name lists ranks as no job has them (at most {MOST_IN_A_JOB}); it is taken for nobody's"
_UNPACK = "it is packed with zstd; unpack it first: zstd -d FILE, or zstdcat FILE | rankscope analyze -"
_ARCHIVE = "an archive within an archive, or from a pipe; unpack it first, or name it as a file"
_NOTHING_PRINTED = (
    f"a notebook in which no cell has printed anything, or a damaged one, or beyond {EXPORT_LIMIT >> 20} MB"
)
_LONG_EXPORT = "an export in one piece; one object a line (jq -c '.[]' FILE) is read to its end, but "
_PARTS_NAMED = 8
_TOO_LARGE = "too large for memory"

Said = Union[Record, LeftOut, Recorder, RasReport, StoreKeys, Threads, Gap]


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
    empty: bool = False  # nothing is in it, or zeros that nobody wrote
    unreadable: own.Unreadable | None = None  # it is a snapshot, and cannot be read; there is a gap of it as well

    def __bool__(self) -> bool:
        return bool(self.dumps or self.events or self.recorders or self.reports)

    def note(self, why: Why, detail: str, hint: str = "") -> None:
        """Remember something that could not be had of it."""
        self.gaps.append(Gap(self.source.name, why, detail, hint))


@dataclass(frozen=True)
class Wish:
    """How a file is read: whether lines are kept as text too, calls shared by all recorders, who is told, and who takes note of
    Ctrl-C (None: it breaks off all)."""

    keep_lines: bool = True
    pool: flight_recorder.Pool | None = None
    progress: Progress | None = None
    stop: Stop | None = None

    @property
    def stopped(self) -> bool:
        """Whether nothing more is to be read."""
        return self.stop is not None and self.stop.pressed


def interrupted(source: Source) -> FileEvidence:
    """A file whose reading was interrupted before anything of it was known."""
    evidence = FileEvidence(replace(source, data=None), who(stem(source.name)))
    evidence.note(Why.SKIPPED, _STOPPED)
    return evidence


def read(source: Source, wish: Wish) -> FileEvidence | Snapshot:
    """What a file says; a snapshot of ours comes back as one. What cannot be read is a gap, also a whole snapshot."""
    evidence = FileEvidence(replace(source, data=None), who(stem(source.name)))
    if source.lost is not None:
        evidence.gaps.append(source.lost)
    if evidence.who.beyond:
        evidence.note(Why.SKIPPED, _BEYOND)
    try:
        stream, tap = open_source(source, wish.progress, wish.stop)
        with closed(stream, tap):
            if own.recognises(head_of(stream)):
                return own.read(cut_lines(stream.readline, b"\n", own.LINE_LIMIT))
            evidence.empty = not head_of(stream)
            _fill(evidence, stream, wish)
            _finish(evidence, tap, wish)
    except own.Unreadable as error:
        evidence.unreadable = error
        evidence.note(error.why, f"{error.what}; {error.because}", error.hint)
    except MemoryError:
        evidence.note(Why.FAILED, _TOO_LARGE)
    except OSError as error:
        # The name of the file stands before it already.
        said = (error.strerror or str(error)).lower()
        evidence.note(Why.DENIED if isinstance(error, PermissionError) else Why.FAILED, said)
    return evidence


def _fill(evidence: FileEvidence, stream: io.BufferedReader, wish: Wish) -> None:
    """Take what a file says, until somebody has had enough; a reader's defect must not cost what the other files say."""
    try:
        _take(evidence, _said(stream, evidence.source.name, wish))
    except KeyboardInterrupt:
        if wish.stop is None:
            raise
        wish.stop.press()
    except MemoryError:
        evidence.note(Why.FAILED, _TOO_LARGE)
    except OSError:
        raise
    except Exception as error:
        evidence.note(Why.FAILED, f"our reader failed: {type(error).__name__}: {error}"[:200], "please report this")


def _finish(evidence: FileEvidence, tap: Tap, wish: Wish) -> None:
    """Put what was read in order, and say what is missing; a text about such things is no evidence of them."""
    evidence.events.sort(key=lambda event: event.line)
    evidence.dumps.sort(key=lambda dump: dump.line)
    if wish.stopped:
        evidence.note(Why.SKIPPED, _STOPPED)
    if tap.damage is not None:
        evidence.note(Why.DAMAGED, f"it ends early: {tap.damage}")
    if _is_about(evidence):
        evidence.events.clear()
        evidence.dumps.clear()
        evidence.note(Why.SKIPPED, DOCUMENT)


def _is_about(evidence: FileEvidence) -> bool:
    """Whether a file is a page or a manual about evidence."""
    if evidence.recorders or evidence.reports:
        return False
    frames = sum(len(dump.thread.stack) for dump in evidence.dumps)
    return is_document(evidence.events, frames) or is_manual(evidence.events, frames)


def _said(stream: io.BufferedReader, name: str, wish: Wish) -> Iterable[Said]:
    head = head_of(stream)
    if flight_recorder.recognises(head):
        data, cut = _whole(stream, name, flight_recorder.MOST_BYTES)
        return cut or flight_recorder.read_all(data, name, wish.pool)  # a part of one cannot be read
    if dlrover.recognises(head):
        data, cut = _whole(stream, name, WHOLE_LIMIT)
        return itertools.chain(cut, dlrover.read(data, name))
    if not is_text(head):
        archive = packed.begins_like_one(head)
        return [Gap(name, Why.UNSUPPORTED, _ARCHIVE if archive else _UNPACK if head.startswith(_ZSTD) else _NO_TEXT)]
    if collected.recognises(head):
        return _exported(stream, name, wish.keep_lines)
    if notebook.recognises(head):
        data, cut = _whole(stream, name, EXPORT_LIMIT)
        return itertools.chain(cut, _notebook(data, name, wish.keep_lines))
    if letters.recognises(head):
        data, cut = _whole(stream, name, EXPORT_LIMIT)
        return itertools.chain(cut, _letters(data, name, wish.keep_lines))
    for recognises, whole in _WHOLE:
        if recognises(head):
            data, cut = _whole(stream, name, EXPORT_LIMIT if head.lstrip()[:1] in (b"[", b"{") else WHOLE_LIMIT)
            return itertools.chain(cut, _or_lines(data, whole(data, name), wish.keep_lines))
    return _text(stream, wish.keep_lines, wish.stop)


def _whole(stream: io.BufferedReader, name: str, limit: int, instead: str = "") -> tuple[bytes, list[Gap]]:
    """A file in one piece, and a gap where it is longer than that, with what would be read ``instead``."""
    data = stream.read(limit)
    more = len(data) == limit and stream.peek(1)
    return data, [Gap(name, Why.CUT, f"{instead}only its first {limit >> 20} MB were read")] if more else []


def _or_lines(data: bytes, said: Iterable[Said], keep_lines: bool) -> Iterator[Said]:
    """What a format says of a file; where that is nothing, its lines: a log in JSON begins like many another thing."""
    understood = False
    for one in said:
        understood = understood or not isinstance(one, Gap)
        yield one
    if not understood:
        yield from _text_of(data, keep_lines)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _ras(data: bytes, name: str) -> Iterator[Said]:
    """A report, and the lines around it; JSON has none, and the names of its fields are no words of anybody."""
    report = ras.read(data, name)
    yield report
    if not isinstance(report, Gap) and not ras.is_json(data):
        yield from _text_of(data, keep_lines=True)


def _exported(stream: io.BufferedReader, name: str, keep_lines: bool) -> Iterator[Said]:
    """The lines of a log that came in one piece of JSON, numbered as they follow each other."""
    data, cut = _whole(stream, name, EXPORT_LIMIT, _LONG_EXPORT)
    yield from cut
    yield from _or_lines(data, _lines_of(data, collected.exported(data), keep_lines), keep_lines)


def _notebook(data: bytes, name: str, keep_lines: bool) -> Iterator[Said]:
    """What its cells printed; the rest is the source of a program."""
    printed = notebook.printed(data)
    yield from _lines_of(data, printed, keep_lines)
    if not printed:
        yield Gap(name, Why.SKIPPED, _NOTHING_PRINTED)


def _letters(data: bytes, name: str, keep_lines: bool) -> Iterator[Said]:
    """The text of letters, and which of their parts are none."""
    said, left = letters.written(data)
    yield from _or_lines(data, _lines_of(data, said, keep_lines), keep_lines)
    if left:
        parts = ", ".join(left[:_PARTS_NAMED]) + (" and others" if len(left) > _PARTS_NAMED else "")
        yield Gap(name, Why.SKIPPED, f"parts of the e-mail that are no text were not read: {parts[:200]}")


def _lines_of(data: bytes, texts: Sequence[collected.Collected], keep_lines: bool) -> Iterator[Record]:
    small = len(data) <= SMALL_BYTES
    reader = TextReader(small and keep_lines)
    labels = task_labels.depth(line.text for one in texts for line in one.lines(0) if line.text)
    lines = [line for number, one in enumerate(texts, 1) for line in one.lines(number, labels)]
    for line in lines:
        yield from reader.take(line)
    yield from reader.close()
    for line in ends_of(lines) if keep_lines and not small else ():
        yield from plain(line)


# Formats that are read in one piece, in the order in which they are tried.
_WHOLE: tuple[tuple[Callable[[bytes], bool], Callable[[bytes, str], Iterable[Said]]], ...] = (
    (lambda head: pyspy_json.recognises(_decoded(head[:4096])), lambda data, _: pyspy_json.read(_decoded(data))),
    (lambda head: error_json.recognises(_decoded(head[:4096])), lambda data, _: error_json.read(_decoded(data))),
    (store_keys.recognises, lambda data, name: [store_keys.read(data, name)]),
    (process_facts.recognises, process_facts.read),
    (ras.recognises, _ras),
)


def _text_of(data: bytes, keep_lines: bool) -> Iterator[Said]:
    return _text(io.BufferedReader(io.BytesIO(data), files.BUFFER), keep_lines)


def _text(stream: io.BufferedReader, keep_lines: bool, stop: Stop | None = None) -> Iterator[Said]:
    """A small text line by line; of a longer one what readers make of it, and the lines that are kept of such. One that does
    not fit into the buffer goes through the sieve."""
    head = stream.peek()
    whole = len(head) < files.BUFFER
    small = whole and len(head) <= SMALL_BYTES
    ends, between, thinning = Ends(), Between(), Thinning()
    sieved = None if whole or not is_by_lines(head_of(stream)) else sieve(stream, ends, thinning, stop)
    keeps = keep_lines and not small
    said = head.decode(files.encoding_of(head), "replace")
    width = width_of(said) if small else 0
    margin = margin_of(said)
    reader = TextReader(small and keep_lines, between if keeps else None, margin)
    each = _numbered(stream, ends if keeps else None)
    lines: Iterable[Numbered | None] = sieved or (whole_lines(each, width) if width else each)
    try:
        for numbered in lines:
            records = list(reader.gap() if numbered is None else reader.feed(*numbered))
            thinning.learn(records, reader.began, reader.is_open)
            yield from records
    except Unfinished as error:
        yield Gap("", Why.FAILED, f"it was not read to its end: {error}")
    yield from reader.close()
    yield from thinning.left_out()
    for number, raw in joined(ends, between) if keeps else ():
        for line in margin.lines(number, raw):
            yield from plain(line)


def _numbered(stream: io.BufferedReader, ends: Ends | None) -> Iterator[Numbered]:
    """All lines of a text, without the sieve; its ends are shown what goes by."""
    for number, line in enumerate(text_lines(stream), 1):
        if ends is not None:
            ends.see(line.encode())
        yield number, line, True


def _in_file(one: Event, file: str) -> Event:
    """An event with the file that it is from; a hundred thousand are made so, and ``replace`` takes four times as long."""
    return Event(one.event, file, one.line, one.rank, one.host, one.pid, one.at_s, one.text, one.fields)


def _take(evidence: FileEvidence, said: Iterable[Said]) -> None:
    """Put everything where it belongs, within bounds; equal stacks are kept once. A gap that names nothing is of the file."""
    counts: dict[str, int] = {}
    last: dict[str, deque[Event]] = {}
    stacks_seen = 0
    for one in said:
        if isinstance(one, Event):
            counts[one.event] = counts.get(one.event, 0) + 1
            first = counts[one.event] <= EVENTS_PER_KIND
            kept = evidence.events if first else last.setdefault(one.event, deque(maxlen=LAST_OF_A_KIND))
            kept.append(_in_file(one, evidence.source.name))
        elif isinstance(one, Dump):
            stacks_seen += 1
            if stacks_seen <= DUMPS_PER_FILE:
                stack = one_stack(one.thread.stack)
                same = stack is one.thread.stack
                evidence.dumps.append(one if same else replace(one, thread=replace(one.thread, stack=stack)))
        elif isinstance(one, LeftOut):
            counts[one.event] = counts.get(one.event, 0) + one.count
        elif isinstance(one, Recorder):
            evidence.recorders.append(one)
        elif isinstance(one, Gap):
            gap = replace(one, what=one.what or evidence.source.name)
            if gap not in evidence.gaps:
                evidence.gaps.append(gap)
        else:
            evidence.reports.append(one)
    evidence.events.extend(event for events in last.values() for event in events)
    if stacks_seen > DUMPS_PER_FILE:
        detail = f"{stacks_seen - DUMPS_PER_FILE} more stacks left out"
        evidence.gaps.append(Gap(evidence.source.name, Why.CUT, detail))
    # A kind of line that comes so often is no news in the end.
    for name, count in counts.items():
        more = count - EVENTS_PER_KIND - len(last.get(name, ()))
        if more > 0 and not name.startswith("text."):
            evidence.gaps.append(Gap(evidence.source.name, Why.SKIPPED, left_out(name, more)))
