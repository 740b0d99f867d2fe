"""Any text, line by line: every reader sees the lines that may concern it, and one file may hold many kinds."""

# ruff: noqa: E501  (a pattern or a row of a table is one line)
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache

from ..model.evidence.events import Event
from ..model.gap import Gap, Why
from ..model.patterns import regex
from ..model.ranks import MOST_IN_A_JOB
from ..model.repeated import of_texts
from . import (
    faulthandler,
    folded,
    gdb_text,
    native_sample,
    processes,
    pybt,
    pylist,
    pyspy_text,
    pystack_text,
    strace,
)
from .events import families
from .kept import Between
from .lines import WORDS_LIMIT, Line, may_have_prefix
from .margin import NONE, Margin, margin_of
from .records import DumpReader, LineReader, Quoted, Record
from .subjects import Section, of_all, placed, section_of
from .versions import versions_of

_NUMBERED = gdb_text.Reader
_QUOTING = (pyspy_text.Reader, pystack_text.Reader, pybt.Reader, gdb_text.Reader)
DUMPS = (pyspy_text, faulthandler, pybt, pystack_text, gdb_text, native_sample, strace, processes, folded, pylist)

# A text up to this size is kept line by line as well, so that rules can read what no reader knows.
SMALL_LINES = 3000

# Any line with which a dump may begin or go on, but for those that end like a frame; others reach the dump readers only to close an open stack.
_DUMP_LINE = regex(
    r'\s*(?:\(gdb\) |\[Switching )?(?:#\d|Thread |Current thread|thread #|\* thread|TID \d|Process \d|Python v\d|Traceback |File "|'
    r"\((?:C|Python)\) |Timeout \(|Fatal Python|Garbage-|Waiting for |<built-in|frame #|\* frame|\[pid|strace|USER |PID |\d+ +\d|F +S |\[<|[\w-]+ +\d+ )"
    r"|[^@\s]+@[^@]*@\d|.*\(in |\w+\(.*|\d+ +[\w.]+\("
)

# A line of gdb's py-list from 100 on: its number at the margin, then the source.
_LISTED = regex(r"^\d{3,6} {4}")
# gdb's pager asks in the middle of a stack, on a line of its own or before the next frame.
_PAGER = regex(r"--+ ?Type <(?:return|RET)> [^\n]*?(?:quit|paging)-{2,3}")

# Sources whose lines are told apart; lines of any more are read as one.
MOST_SOURCES = 2048

_BEYOND = (
    f"a heading in it lists ranks as no job has them (at most {MOST_IN_A_JOB}); what is below it is taken for nobody's"
)


class _Voice:
    """The lines of one source: what dump it is in the middle of, and whom it speaks about."""

    def __init__(self) -> None:
        self._readers: list[DumpReader] = [module.Reader() for module in DUMPS]
        self._fed: list[DumpReader] = []  # the last line, of which others heard nothing
        self.section = Section()
        self.dumping = False

    def feed(self, line: Line) -> Iterator[Record]:
        hears = _hears(line.text)
        self._fed = [reader for reader, heard in zip(self._readers, hears) if heard or not reader.idle]
        for reader in self._fed:
            for record in reader.feed(line):
                yield of_all(record, self.section)
        self.dumping = any(reader.busy for reader in self._readers)

    @property
    def quoted(self) -> Quoted | None:
        """What the last line was below a frame."""
        return next((reader.quoted for reader in self._fed if isinstance(reader, _QUOTING) and reader.quoted), None)

    def close(self) -> Iterator[Record]:
        """What is open ends here."""
        yield from self._end(self._readers)

    def gap(self) -> Iterator[Record]:
        """Lines were left out here: what is open ends, but for stacks whose frames have numbers."""
        yield from self._end(reader for reader in self._readers if not isinstance(reader, _NUMBERED))

    def _end(self, readers: Iterable[LineReader]) -> Iterator[Record]:
        for reader in readers:
            for record in reader.close():
                yield of_all(record, self.section)
        self.dumping = any(reader.busy for reader in self._readers)


class TextReader:
    """All readers at once; what several ranks wrote into one file line by line is told apart by their prefixes."""

    def __init__(self, small: bool = True, kept: Between | None = None, margin: Margin = NONE) -> None:
        self._voices: dict[str, _Voice] = {}
        self._families: list[LineReader] = [module.Reader() for module in families()]
        self._interests = _any_of(all_needles())
        self._small = small
        self._kept = kept  # of a long text: shown the lines that one of the families may know
        self._margin = margin
        self._last_source = ""
        self.began = False  # with the last line the next ones mean something else
        self._dumping: set[_Voice] = set()
        self._waiting: list[LineReader] = []  # readers that are in the middle of something

    @property
    def is_open(self) -> bool:
        """Whether a stack or a message is not at its end."""
        return bool(self._dumping or self._waiting)

    def feed(self, number: int, raw: str, may: bool = True) -> Iterator[Record]:
        """All records that a line completes; ``may``: whether one of the families may know it."""
        self.began = False
        if raw.startswith("--") and (asked := _PAGER.match(raw)):
            raw = raw[asked.end() :]
            if not raw.strip():
                return
        interesting = may and self._interests(raw)
        said = self._margin.off(raw)
        if not (
            interesting
            or self._small
            or self.is_open
            or _ends_like_a_frame(said)
            or _DUMP_LINE.match(said)
            or may_have_prefix(said)
            or said.startswith("{")
        ):
            return
        if interesting and self._kept is not None:
            self._kept.see(number, raw)
        for line in self._margin.lines(number, raw):
            yield from self.take(line, interesting)

    def take(self, line: Line, interesting: bool = True) -> Iterator[Record]:
        """The same of a line that is cleaned already; ``interesting``: whether one of the families may know it."""
        if line.text.startswith(("```", "~~~")):
            return
        line, self._last_source = self._marked(line), line.source
        voice = self._voice(line.source)
        section = section_of(line, voice.section)
        if section is not voice.section:
            yield from voice.close()
            voice.section = section
            self.began = True
            if section.beyond:
                yield Gap("", Why.SKIPPED, _BEYOND)
        line = placed(line, section)
        shown, quoted = self._dump(voice, line)
        row = next((one for one in shown if isinstance(one, Event) and one.event == "proc.row"), None)
        if row is not None:
            line = replace(line, text=row.text)
        if self._small:
            yield from plain(line, quoted)
        yield from shown
        yield from self._events(line, interesting and quoted is None)

    def _marked(self, line: Line) -> Line:
        """A line as it was before ``>`` was taken for the prefix of a quotation: gdb's py-list marks with it the current line,
        which stands at the margin from line 100 on, and the lines around it have no such prefix."""
        own = line.source[:-1]
        if line.source.endswith(">") and self._last_source == own and _LISTED.match(line.text):
            return replace(line, source=own, text=f">{line.text}")
        return line

    def _events(self, line: Line, interesting: bool) -> Iterator[Record]:
        if not (interesting or self._waiting):
            return
        concerns = _concerns(line.text) if interesting else itertools.repeat(False)
        concerned = [reader for its, reader in zip(concerns, self._families) if its or reader in self._waiting]
        for reader in concerned:
            before = tuple(vars(reader).values())
            yield from reader.feed(line)
            self.began = self.began or before != tuple(vars(reader).values())
        if concerned:
            self._waiting = self._waits()

    def _voice(self, source: str) -> _Voice:
        if source not in self._voices and len(self._voices) >= MOST_SOURCES:
            source = ""
        voice = self._voices.get(source)
        if voice is None:
            voice = self._voices[source] = _Voice()
        return voice

    def _dump(self, voice: _Voice, line: Line) -> tuple[list[Record], Quoted | None]:
        begins = _DUMP_LINE.match(line.text) is not None
        if not (begins or voice.dumping or self._small or _ends_like_a_frame(line.text)):
            return [], None
        shown = list(voice.feed(line))
        self.began = self.began or begins
        (self._dumping.add if voice.dumping else self._dumping.discard)(voice)
        return shown, voice.quoted

    def gap(self) -> Iterator[Record]:
        """Lines were left out here: what is open does not go on behind them, unless it has numbers."""
        if self.is_open:
            yield from self._end(_Voice.gap)

    def _waits(self) -> list[LineReader]:
        return [reader for reader in self._families if reader.busy]

    def close(self) -> Iterator[Record]:
        """What was still open at the end."""
        yield from self._end(_Voice.close)

    def _end(self, end: Callable[[_Voice], Iterator[Record]]) -> Iterator[Record]:
        for voice in self._voices.values():
            yield from end(voice)
        self._dumping = {voice for voice in self._dumping if voice.dumping}
        for reader in self._families:
            yield from reader.close()
        self._waiting = self._waits()


@of_texts
def _hears(text: str) -> tuple[bool, ...]:
    """Which of the dump readers hear a line."""
    return tuple(module.hears(text) for module in DUMPS)


def _ends_like_a_frame(text: str) -> bool:
    return text.rstrip().endswith(")")


@cache
def all_needles() -> tuple[str, ...]:
    """A line that has none of these concerns no family."""
    return shortest(tuple(needle for module in families() for needle in module.NEEDLES))


@cache
def shortest(needles: tuple[str, ...]) -> tuple[str, ...]:
    """Words without those that contain another one."""
    each = sorted(set(needles))
    return tuple(one for one in each if not any(other in one and other != one for other in each))


@of_texts
def _concerns(text: str) -> tuple[bool, ...]:
    """Which of the families a line concerns."""
    return tuple(_has(text, shortest(module.NEEDLES)) for module in families())


@cache
def _any_of(needles: tuple[str, ...]) -> Callable[[str], bool]:
    """Whether a text has one of these words."""
    return of_texts(lambda text: _has(text, needles))


def _has(text: str, needles: tuple[str, ...]) -> bool:
    # Ten times as fast as one pattern of them all, which is tried at every letter of a line.
    for needle in needles:  # noqa: SIM110  (any() makes a generator for each line)
        if needle in text:
            return True
    return False


def plain(line: Line, quoted: Quoted | None = None) -> Iterator[Record]:
    """A line as it stands, for rules that read what no reader knows, and the versions in it; of source only that it is there."""
    if line.text.strip() and quoted is not Quoted.VARIABLE:
        yield Event(
            "text.source" if quoted else "text.line", line=line.number, rank=line.rank, host=line.host, pid=line.pid, at_s=line.at_s,
            text=line.text[:WORDS_LIMIT],
        )  # fmt: skip
        if quoted is None:
            yield from versions_of(line)


def read(text: str) -> Iterator[Record]:
    """All records of a text held in memory."""
    raw = text.split("\n")
    reader = TextReader(small=len(raw) <= SMALL_LINES, margin=margin_of(text))
    for number, line in enumerate(raw, 1):
        yield from reader.feed(number, line)
    yield from reader.close()
