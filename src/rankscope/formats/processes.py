"""Tables of processes: ``ps`` in its many layouts, ``top``, and what /proc/PID says when somebody pastes it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone

from ..model.evidence.events import Event, Value
from ..model.patterns import regex
from .command_lines import without_code
from .lines import Line
from .records import Record, read_all

NAME = "process table"

_HEADS = {"STAT", "S", "STATE"}
_WCHAN = regex(r"^(?:\$ ?cat )?/proc/(?P<pid>\d{1,10})/(?:task/\d+/)?wchan:? *(?P<wchan>\w+)")
_OF = r"^(?:/proc/(?P<pid>\d{1,10})/(?:task/\d{1,10}/)?status:\s*)?"  # as grep(1) puts it before lines of several files
_STATUS = regex(_OF + r"State:\s+(?P<state>[RSDTtZXI])(?: \((?P<words>[\w -]+)\))?")
_TRACER = regex(_OF + r"TracerPid:\s+(?P<tracer>[1-9]\d{0,9})")
_KSTACK = regex(r"^\[<[0-9a-f]+>\] (?P<function>[\w.]+)")
_NUMBER = regex(r"[0-9]{1,10}")
_CUT = "--"  # what grep(1) puts between lines that are not beside each other
# A row of ``ps aux`` without its head, as ``ps aux | grep python`` leaves it (ps(1), BSD format ``u``).
_USER_ROW = regex(
    r"\S+ +\d{1,10} +\d{1,6}\.\d +\d{1,3}\.\d +\d+ +\d+ +(?:\?|pts/\d+|tty\w+) +[RSDTtZXI][lsLN<+]* +\S+ +\d+:\d\d +\S"
)
_USER_COLUMNS = ("USER", "PID", "%CPU", "%MEM", "VSZ", "RSS", "TTY", "STAT", "START", "TIME", "COMMAND")
# Nor has ``ps ax | grep python`` one (BSD format without ``u``).
_TERMINAL_ROW = regex(r"\d{1,10} +(?:\?|pts/\d{1,5}|tty\w{1,8}) +[RSDTtZXI][lsLN<+]* +\d{1,6}:\d\d +\S")
_TERMINAL_COLUMNS = ("PID", "TTY", "STAT", "TIME", "COMMAND")
_DEFUNCT = regex(r"^(?:.*?\s)?(?P<pid>\d{1,10})\s.*<defunct>")


# What ``lstart`` of ps(1) prints, in five words; ``etime`` and ``time``, which may begin with days.
_LSTART = regex(r"\b[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\b")
_SPAN = regex(r"(?:(?:(?P<days>\d{1,5})-)?(?P<hours>\d{1,3}):)?(?P<minutes>\d{1,4}):(?P<seconds>\d\d)")


def _seconds(text: str) -> int | None:
    """A time of ps(1), ``[[DD-]hh:]mm:ss``."""
    found = _SPAN.fullmatch(text)
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups()) if found else (0, 0, 0, 0)
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds if found else None


def _epoch(text: str) -> int:
    """A moment as ``lstart`` writes it, in seconds of a clock of its own."""
    try:
        return int(
            datetime.strptime(" ".join(text.split()), "%a %b %d %H:%M:%S %Y").replace(tzinfo=timezone.utc).timestamp()
        )
    except ValueError:
        return 0


def _pid(found: re.Match[str]) -> int | None:
    return int(found["pid"]) if found["pid"] else None


def _header(text: str) -> list[str] | None:
    words = text.split()
    return words if "PID" in words and (_HEADS & set(words) or "WCHAN" in words) else None


class Reader:
    """Rows below a header whose columns are known."""

    busy = False

    def __init__(self) -> None:
        self._columns: list[str] | None = None
        self._kernel: list[str] = []
        self._at: Line | None = None

    def feed(self, line: Line) -> Iterator[Record]:
        text = line.text.strip()
        frame = _KSTACK.match(text)
        if frame:
            self._at = self._at or line
            if len(self._kernel) < 64:
                self._kernel.append(frame["function"])
            return
        yield from self.close()
        head = _header(text)
        if head:
            self._columns = head
        elif found := _WCHAN.match(text):
            yield _event(line, "proc.wchan", {"wchan": found["wchan"]}, int(found["pid"]))
        elif found := _STATUS.match(text):
            yield _event(line, "proc.state", {"state": found["state"]}, _pid(found))
        elif found := _TRACER.match(text):
            yield _event(line, "proc.tracer", {"tracer": int(found["tracer"])}, _pid(found))
        elif self._columns:
            yield from self._row(line, text, self._columns)
        elif _USER_ROW.match(text):
            yield from self._row(line, text, _USER_COLUMNS)
        elif _TERMINAL_ROW.match(text):
            yield from self._row(line, text, _TERMINAL_COLUMNS)
        elif found := _DEFUNCT.match(text):
            yield _event(line, "proc.row", {"state": "Z", "command": text[-200:]}, int(found["pid"]))

    def _row(self, line: Line, text: str, columns: Sequence[str]) -> Iterator[Record]:
        if text == _CUT:
            return
        whole = _LSTART.search(text) if "STARTED" in columns else None
        words = (text.replace(whole[0], "_".join(whole[0].split()), 1) if whole else text).split(None, len(columns) - 1)
        if len(words) < len(columns) - 1:
            self._columns = None
            return
        row = dict(zip(columns, words))
        pid = row.get("PID", "")
        state = next((row[name] for name in ("STAT", "S", "STATE") if name in row), "")
        if not _NUMBER.fullmatch(pid):
            self._columns = None
            return
        fields: dict[str, Value] = {"state": state, "command": words[-1][:200]}
        if re.fullmatch(r"\d{1,6}(?:\.\d+)?", row.get("%CPU", "")):
            fields["cpu"] = float(row["%CPU"])
        if row.get("WCHAN", "-") not in ("-", "0"):
            fields["wchan"] = row["WCHAN"]
        for column, field in (("PPID", "ppid"), ("NLWP", "threads"), ("THCNT", "threads")):
            if _NUMBER.fullmatch(row.get(column, "")):
                fields[field] = int(row[column])
        started = next((row[column] for column in ("STARTED", "START", "STIME") if column in row), "")
        if re.fullmatch(r"\d\d:\d\d(?::\d\d)?", started):
            fields["started"] = started
        elif whole and started == "_".join(whole[0].split()):
            fields["began_s"] = _epoch(whole[0])
        for column, field in (("ELAPSED", "age_s"), ("TIME", "worked_s")):
            if (seconds := _seconds(row.get(column, ""))) is not None:
                fields[field] = seconds
        yield _event(replace(line, text=without_code(line.text, words[-1])), "proc.row", fields, int(pid))

    @property
    def idle(self) -> bool:
        return self._columns is None and self._at is None

    def close(self) -> Iterable[Record]:
        functions, at = self._kernel, self._at
        self._kernel, self._at = [], None
        return (_event(at, "proc.kernel_stack", {"functions": tuple(functions)}, None),) if at is not None else ()


def _event(line: Line, name: str, fields: Mapping[str, Value], pid: int | None) -> Event:
    return Event(name, line=line.number, rank=line.rank, host=line.host, pid=pid, text=line.text, fields=fields)


def hears(text: str) -> bool:
    """Whether a line means anything to an idle reader."""
    text = text.strip()
    known = (_KSTACK, _WCHAN, _STATUS, _TRACER, _USER_ROW, _TERMINAL_ROW, _DEFUNCT)
    return bool(_header(text)) or any(pattern.match(text) for pattern in known)


def read(text: str) -> Iterator[Record]:
    """All rows of a text."""
    return read_all(Reader(), text)
