"""One line of somebody's text, without what launchers, log collectors and terminals put around it.

Prefixes known: torchrun ``[default0]:`` and ``[rank0]:``, mpirun ``--tag-output``, ``--timestamp-output`` and ``--xml``, SageMaker, Ray, vLLM, docker and CRI,
kubectl ``--prefix``, compose, syslog, Airflow, GitHub's ``gh run view --log``, and the usual time stamps. Markdown quotes and
colours fall away, and borders. What only a text as a whole shows to be a prefix is in :mod:`.margin` and :mod:`.task_labels`.
"""

# ruff: noqa: E501  (a pattern or a row of a table is one line)
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from ..model.patterns import regex
from ..model.repeated import of_texts
from .task_labels import LABEL

# A line may not be longer than this; the rest is another program's data.
LINE_LIMIT = 64 << 10
# Nobody's words go on for longer within a line: what is behind them is data, and searched only by readers of formats.
WORDS_LIMIT = 4000

_ANSI = regex(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = regex(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True)
class Line:
    """One cleaned line: 1-based number, text, and what the prefixes said of its origin."""

    number: int
    text: str
    rank: int | None = None
    local_rank: int | None = None
    host: str | None = None
    pid: int | None = None
    source: str = ""  # the prefixes as one string: lines of one source belong together
    at_s: float | None = None


_DATE = r"(?P<date>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)"
# syslog(3), and ``journalctl -o short-iso``; who speaks is the source, whenever it was said.
_SYSLOG = (
    r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{3,6})? (?P<by>(?P<host>[\w.-]+) [\w./-]+(?:\[(?P<pid>\d{1,10})\])?: )"
)
_JOURNAL = (
    _DATE
    + r" (?P<by>(?!(?:DEBUG|INFO|WARN|ERROR|CRIT|FATAL))(?P<host>[\w.-]+) (?:kernel|[\w./@-]+\[(?P<pid>\d{1,10})\]): )"
)
# ``journalctl -o short-full``, ``short-unix`` and ``short-monotonic``.
_SPOKEN = r"(?P<by>(?P<host>[\w.-]+) (?:kernel|[\w./@-]+\[(?P<pid>\d{1,10})\]): )"
# Loki's ``logcli query``: the time, the labels of the stream, the line.
_LOKI = _DATE + r" (?P<by>\{\w+=\"[^{}\n]{0,400}\}) "
# mpirun(1) ``--timestamp-output``, alone or before its tag; no zone is told.
_STAMP = r"(?P<date>[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})"
_STREAM = r"<std(?:out|err|diag)>: ?"
# ``aws logs tail``: the time, the name of the stream, the line.
_AWS = r"(?P<date>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00) (?P<by>\w[\w.#-]*/[\w.#/-]+ )"
# What the formats of loguru, logging (its cookbook's) and Hydra write behind the time, when a program passes on another's lines.
_LEVEL = r"(?:TRACE|DEBUG|INFO|SUCCESS|WARN(?:ING)?|ERROR|CRITICAL|FATAL)"
_LOG_HEAD = rf"(?:{_LEVEL} *\| (?:[\w.<>]+:[\w.<>]+:\d+ - )?|- [\w.-]+ - {_LEVEL} - |\[[\w.-]+\]\[{_LEVEL}\] - )?"
# Each takes one prefix off; a group named rank, local, host, pid or date says what it told.
_PREFIXES = tuple(
    regex(pattern)
    for pattern in (
        r"\[rank(?P<rank>\d{1,7})\](?:: ?| (?=\S))",
        r"\[(?!rank)[A-Za-z_][\w-]*?(?P<local>\d{1,5})\]: ?",
        r"\[\d+,(?P<rank>\d{1,7})\](?:<std(?:out|err|diag)>)?: ?",
        r"\[(?P<rank>\d{1,7})\]<std(?:out|err)>: ?",
        r"\[\d+,mpirank:(?P<rank>\d{1,7}),(?P<host>[\w.-]+)\](?:<std(?:out|err|diag)>)?: ?",
        r"<std(?:out|err|diag),(?P<rank>\d{1,7})>: ?",
        rf"\[[\w.@+-]{{1,80}},(?P<rank>\d{{1,7}})\]{_STREAM}",
        rf"{_STAMP}(?P<by>(?:\[[\w.@+-]{{1,80}},(?P<rank>\d{{1,7}})\])?{_STREAM})",
        r"\((?P<actor>[A-Za-z_][\w.:<>-]*) (?:rank=(?P<rank>\d{1,7})[ ,]*)?pid=(?P<pid>\d{1,10})(?:, ip=(?P<host>[\w.:-]+))?\) ?",
        r"\((?P<actor>[A-Za-z_][\w.-]*), (?P<host>ip=[\w.:-]+)\) ?",
        r"\[(?:pod/)?(?P<host>[A-Za-z][\w.-]*)/[\w.-]+\] ",
        r"(?P<actor>[\w.-]{1,200}[-_]\d{1,10}) +\| ",
        _DATE + r" (?:stdout|stderr) [FP] ",
        _AWS,
        _LOKI,
        r"[A-Z][a-z]{2} " + _DATE + r" [A-Z]{2,5} " + _SPOKEN,
        r"(?:\d{10}\.\d{3,6}|\[ *\d{1,9}\.\d{6}\]) " + _SPOKEN,
        r"\[" + _DATE + r"\][,:]? ?" + _LOG_HEAD,
        r"[^\t]{1,120}\t[^\t]{1,120}\t\ufeff?" + _DATE + " ",
        _JOURNAL,
        _DATE + r" ?(?:\| )?" + _LOG_HEAD,
        r"##\[(?:debug|command|group|section)\]",
        r"\[(?P<date>\d{4}-\d\d-\d\d, \d\d:\d\d:\d\d) UTC\] (?=\{)",
        r"\{\w+\.py:\d+\} (?:DEBUG|INFO|WARNING|ERROR|CRITICAL) - (?:\[base\] )?",
        _SYSLOG,
        r"(?:> ?)+",
    )
)
_MAYBE_PREFIX = regex(
    r"\[(?:rank|[A-Za-z_]+\d|\d+,|\d{1,7}\]<std|\d{1,6}\] | *\d{1,9}\.\d{6}\] |[\w.@+-]{1,80},\d+\]<std|pod/|[\w.-]+/[\w.-]+\]|\d{4}-)|\d{1,6}: |"
    r"\d{4}-\d\d-|\([A-Za-z_]|[A-Z][a-z]{2} (?:(?:[A-Z][a-z]{2} )?[ \d]\d \d\d:|\d{4}-)|\d{10}\.\d{3}|<std|>|[\w.-]+[-_]\d+ +\||##\[|"
    r"\{\w+\.py:\d|[^\t\n]{1,120}\t[^\t\n]{1,120}\t\ufeff?\d{4}-"
)

# mpirun(1) ``--xml``.
_XML = regex(
    r"<(?P<kind>std(?:out|err|diag)) rank=\"(?P<rank>\d{1,7})\">(?P<text>[^\n]*?)(?:&#010;)?(?:</std(?:out|err|diag)>)?$"
)
# What stands for a sign in XML, and so in a page whose source was copied; html.escape of Python and its like write some as numbers.
_ENTITY = regex(r"&(lt|gt|amp|quot|apos|nbsp|#39|#x27|#34|#0?10);")
_SIGNS = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'", "nbsp": " ", "#39": "'", "#x27": "'", "#34": '"'}

# So a program says who speaks, within its own message; that torch does so too, readers of its messages know.
_SPEAKER = regex(r"\[(?:[Rr]ank|RANK)[ =:#]?(?P<rank>\d{1,7})\]")

# A panel that a program drew around its text (rich), or the edge of a terminal's pane that was copied with it (tmux).
_BORDERS = ("│", "┃")


def _border_off(text: str) -> str:
    inner = text[:-1].rstrip()
    return inner[1:].removeprefix(" ") if inner.startswith(_BORDERS) else inner


def may_have_prefix(raw: str) -> bool:
    """Whether a line may begin with what a launcher or collector put there; quick, and sometimes wrong."""
    return _MAYBE_PREFIX.match(raw) is not None


def clean(number: int, raw: str, labels: int = 0) -> Line:
    """A line without noise; ``labels``: how many labels of tasks its text has before lines."""
    told = _cleaned(raw, labels)
    return Line(number, told.text, told.rank, told.local_rank, told.host, told.pid, told.source, told.at_s)


@of_texts
def _cleaned(raw: str, labels: int) -> Line:
    """The same without its number."""
    text = raw.rstrip("\r\n")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "\r" in text:
        text = " ".join(part for part in text.split("\r") if part.strip())
    text = _CONTROL.sub("", text[:LINE_LIMIT])
    if text.endswith(_BORDERS):
        text = _border_off(text)
    line = _of_xml(text) if text.startswith("<std") else Line(0, _signs(text) if "&" in text else text)
    for _ in range(6):
        shorter = _strip_one(line)
        if shorter is None:
            found = LABEL.match(line.text) if labels else None
            if found is None:
                break
            shorter, labels = _without(line, found), labels - 1
        line = shorter
    speaker = _SPEAKER.match(line.text) if line.rank is None else None
    rank = line.rank if speaker is None else int(speaker["rank"])
    blank = line.text[-1:].isspace() and not LABEL.fullmatch(line.text)
    text = line.text.rstrip() if blank else line.text
    return replace(line, text=text, rank=rank) if blank or speaker is not None else line


def _of_xml(text: str) -> Line:
    found = _XML.match(text)
    if found is None:
        return Line(0, text)
    return Line(0, _signs(found["text"]), rank=int(found["rank"]), source=f"<{found['rank']}>")


def _signs(text: str) -> str:
    return _ENTITY.sub(lambda found: _SIGNS.get(found[1], " "), text)


def _strip_one(line: Line) -> Line | None:
    if not _MAYBE_PREFIX.match(line.text):
        return None
    for pattern in _PREFIXES:
        found = pattern.match(line.text)
        if found and found.end():
            return _without(line, found)
    return None


def _without(line: Line, found: re.Match[str]) -> Line:
    told = found.groupdict()
    rank, local, pid, host = told.get("rank"), told.get("local"), told.get("pid"), told.get("host")
    date = told.get("date")
    return replace(
        line,
        text=line.text[found.end() :],
        rank=int(rank) if rank else line.rank,
        local_rank=int(local) if local else line.local_rank,
        pid=int(pid) if pid else line.pid,
        host=host.removeprefix("ip=") if host else line.host,
        source=line.source + (told.get("by") or ("" if date else found.group())).strip(),
        at_s=seconds(date) if date else line.at_s,
    )


def seconds(stamp: str) -> float | None:
    """A time stamp as seconds since the epoch; without a zone it is taken as UTC. None when it is no time."""
    if stamp[:1].isalpha():
        return _of_ctime(stamp)
    text = stamp.replace(", ", " ").replace(",", ".").replace("Z", "+00:00")
    text = re.sub(r"(\.\d{6})\d+", r"\1", text)
    text = re.sub(r"\.(\d{1,5})(?=\D|$)", lambda found: "." + found.group(1).ljust(6, "0"), text)
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (when if when.tzinfo else when.replace(tzinfo=timezone.utc)).timestamp()


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _of_ctime(stamp: str) -> float | None:
    """``Tue Nov 24 14:11:24 2026`` (asctime(3), whose months are English everywhere)."""
    try:
        _, month, day, clock, year = stamp.split()
        hour, minute, second = map(int, clock.split(":"))
        when = datetime(int(year), _MONTHS.index(month) + 1, int(day), hour, minute, second, tzinfo=timezone.utc)
    except ValueError:
        return None
    return when.timestamp()


def lines_of(text: str) -> Iterator[Line]:
    """The cleaned lines of a whole text; Markdown fences are left out but counted."""
    yield from cleaned(text.split("\n"))


def cleaned(raw: Iterable[str]) -> Iterator[Line]:
    """Cleaned lines in order."""
    for number, line in enumerate(raw, 1):
        if line.startswith(("```", "~~~")):
            continue
        yield clean(number, line)
