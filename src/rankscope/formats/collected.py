"""What a log collector wrote as JSON about a program's line → the line itself, when it was written and where.

Docker's json-file and fluentd (``log``), journald's ``journalctl -o json`` (``MESSAGE``, systemd.journal-fields(7)), Google's
Cloud Logging (LogEntry: ``textPayload``, ``jsonPayload``), CloudWatch and Logstash (``message``), Loki's ``logcli`` (``line``),
Splunk (``_raw``); the journal's own fields (``journalctl -o export``, ``-o verbose``); and programs that log in JSON
themselves, with the traceback in a field of its own. One object a line, or
all of an export in one array; or as a table whose first line names such fields (Kibana, CloudWatch, spreadsheets).
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..model.patterns import regex
from .lines import Line, clean, seconds

_TEXT = ("log", "MESSAGE", "textPayload", "message", "@message", "msg", "line", "_raw", "body", "event")
_TRACE = ("exc_info", "exc_text", "exception", "stack_trace", "stacktrace", "traceback", "stack_info")
_TIME = ("time", "timestamp", "@timestamp", "ts", "asctime", "_time", "__REALTIME_TIMESTAMP")
# One of these beside a text says that the object is a line of a log.
_KIND = (*_TIME, "stream", "level", "levelname", "severity", "PRIORITY", "logStreamName", "logger")
_HOST = (
    "_HOSTNAME", "pod_name", "pod", "podName", "instance", "logStreamName", "logStream", "@logStream", "host", "hostname",
    "host_name", "container_name",
)  # fmt: skip
_PID = ("_PID", "pid", "process")
_FIELDS = {name.lower(): name for name in (*_TEXT, *_KIND, *_HOST, *_PID, *_TRACE)}
# Where the next level holds the fields above.
_WITHIN = ("jsonPayload", "kubernetes", "resource", "labels", "stream", "fields", "_source", "metadata")
_LISTS = ("events", "entries", "logEvents", "hits", "messages", "results")
_EXPORT = regex(rb'\s*(?:\[\s*\{|\{\s*"(?:events|entries|logEvents|hits|messages|results)"\s*:)')
# Loki's HTTP API, query_range: streams of [nanoseconds, line] under their labels, the newest first.
_LOKI = regex(rb'\s*\{\s*"status"\s*:\s*"success"\s*,\s*"data"\s*:\s*\{\s*"resultType"\s*:\s*"streams"')
# A whole log as one JSON string, as jq prints it without -r.
_ONE_TEXT = regex(rb'\s*"(?:[^"\\\n]|\\[^n])*\\n[^\n]*(?:\n\s*)?\Z')
# The journal's fields, a line each; entries are parted by an empty line, or begin with a time and a cursor.
_FIELD = regex(r" {0,4}(?P<name>_{0,2}[A-Z][A-Z0-9_]*)=(?P<value>.*)")
_JOURNAL = regex(
    rb"(?:__CURSOR=[^\n]*\n|[A-Z][a-z]{2} \d{4}-\d\d-\d\d [\d:.]+ \S+ \[s=[^\n]*\n)(?: {0,4}_{0,2}[A-Z][A-Z0-9_]*=)"
)
_MOST_TEXTS = 2000
_MOST_BROKEN = 8  # each is read to the end of the text
_THIS_CENTURY_S = 946_684_800.0  # what is less is no time of a log


@dataclass(frozen=True)
class Collected:
    """Lines of one program, as it wrote them; ``host`` is what the collector calls the place, a pod say."""

    texts: tuple[str, ...]
    host: str | None = None
    pid: int | None = None
    at_s: float | None = None

    def lines(self, number: int, labels: int = 0) -> Iterator[Line]:
        """Each cleaned, also of labels of tasks, with what is known of its origin."""
        for line in (clean(number, text, labels) for text in self.texts):
            source = f"{self.host or ''} {self.pid or ''}".strip() + line.source
            yield replace(
                line, host=line.host or self.host, pid=line.pid or self.pid, source=source,
                at_s=self.at_s if line.at_s is None else line.at_s,
            )  # fmt: skip


def lines(number: int, raw: str, labels: int = 0) -> Iterator[Line]:
    """The cleaned lines of a raw one: itself, or those that a collector put into JSON."""
    held = opened(raw)
    if held is None:
        yield clean(number, raw, labels)
    else:
        yield from held.lines(number, labels)


def opened(text: str) -> Collected | None:
    """What a line of JSON holds of a program's line; None where it is no such line.

    >>> opened('{"log": "step 1\\\\n", "stream": "stderr", "time": "2026-01-01T00:00:00Z"}')
    Collected(texts=('step 1',), host=None, pid=None, at_s=1767225600.0)
    """
    if not text.startswith("{"):
        return None
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return _of(body) if isinstance(body, dict) else None


def _columns(data: bytes) -> tuple[str, list[str]] | None:
    """What stands between the columns of a table of log lines, and the fields that its first line names."""
    first = data.partition(b"\n")[0].decode("utf-8-sig", "replace").rstrip("\r")
    for between in ",;\t":
        names = [_FIELDS.get(name.strip('" ').rpartition(".")[2].lower(), name) for name in first.split(between)]
        if len(names) > 1 and set(names) & set(_TEXT) and set(names) & {*_KIND, *_HOST}:
            return between, names
    return None


def _rows(text: str, between: str, names: list[str]) -> Iterator[dict[str, Any]]:
    """The rows of a table, up to one that is damaged."""
    rows = csv.reader(io.StringIO(text.replace("\0", ""), newline=""), delimiter=between)
    with contextlib.suppress(csv.Error):
        next(rows, None)
        for row in rows:
            yield dict(zip(names, row))


def _entries(text: str) -> Iterator[dict[str, Any]]:
    """The entries of the journal, each with its fields; a priority is the least that one has."""
    fields: dict[str, Any] = {}
    for line in (*text.splitlines(), ""):
        if found := _FIELD.match(line):
            fields[found["name"]] = found["value"]
        elif fields:
            yield {"PRIORITY": "6", **fields}
            fields = {}


def recognises(head: bytes) -> bool:
    """Does a file begin like an export of log lines in one piece of JSON, or as a table?"""
    if _columns(head) or _JOURNAL.match(head) or _LOKI.match(head) or _ONE_TEXT.match(head):
        return True
    if not _EXPORT.match(head):
        return False
    return any(b'"%b"' % key.encode() in head for key in _TEXT) and any(b'"%b"' % key.encode() in head for key in _KIND)


def exported(data: bytes) -> list[Collected]:
    """The lines of such an export, or of what is left of one; one that lists the newest first is turned round."""
    table = _columns(data)
    if table is not None:
        return _in_order(_rows(data.decode("utf-8", "replace"), *table))
    if _JOURNAL.match(data):
        return _in_order(_entries(data.decode("utf-8", "replace")))
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return _in_order(_objects(data.decode("utf-8", "replace")))
    return each_line(body) if isinstance(body, str) else _in_order(_items(body))


def _in_order(items: Iterable[Any]) -> list[Collected]:
    """What objects hold, the oldest first."""
    found = [one for item in items if (one := _of(item)) is not None]
    times = [one.at_s for one in found if one.at_s is not None]
    if len(times) == len(found) and times and times[0] > times[-1]:
        found.reverse()
    return found


def each_line(text: str) -> list[Collected]:
    """The lines of a text of which nothing more is known."""
    return [Collected((line,)) for line in text.splitlines()]


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The objects that are whole in a text that is no JSON, or not any more; no longer than a few are broken."""
    decoder, at, broken = json.JSONDecoder(), text.find("{"), 0
    while at >= 0 and broken < _MOST_BROKEN:
        end = at + 1
        try:
            item, end = decoder.raw_decode(text, at)
            yield item
        except (ValueError, RecursionError):
            broken += 1
        at = text.find("{", end)


def _items(body: Any) -> Iterable[dict[str, Any]]:
    data = body.get("data") if isinstance(body, dict) else None
    if isinstance(data, dict) and isinstance(data.get("result"), list):
        return sorted(_of_loki(data["result"]), key=lambda item: item["timestamp"])
    return _listed(body)


def _of_loki(streams: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for stream in streams:
        labels = stream.get("stream") if isinstance(stream, dict) else None
        values = stream.get("values") if isinstance(labels, dict) else None
        for value in values if isinstance(values, list) else ():
            if isinstance(value, list) and len(value) >= 2 and str(value[0]).isdecimal():
                yield {"stream": labels, "line": value[1], "timestamp": int(str(value[0])[:20])}


def _listed(body: Any) -> Iterator[dict[str, Any]]:
    if isinstance(body, dict):
        body = next((body[key] for key in _LISTS if isinstance(body.get(key), (list, dict))), [])
        if isinstance(body, dict):  # Elasticsearch: hits within hits
            body = next((body[key] for key in _LISTS if isinstance(body.get(key), list)), [])
    for item in body if isinstance(body, list) else ():
        if isinstance(item, dict):
            yield item


def _of(body: dict[str, Any]) -> Collected | None:
    levels = list(_levels(body))
    text = next((level[key] for level in levels for key in _TEXT if isinstance(level.get(key), str)), None)
    if text is None or not any(key in level for level in levels for key in _KIND):
        return None
    trace = next((level[key] for level in levels for key in _TRACE if isinstance(level.get(key), str)), "")
    lines = [*text.splitlines(), *trace.splitlines()] or [""]
    host = _first(levels, _HOST)
    pid = _first(levels, _PID)
    return Collected(
        tuple(lines[:_MOST_TEXTS]), str(host)[:200] if host else None,
        int(pid) if pid is not None and str(pid).isdecimal() and len(str(pid)) < 10 else None, _time(_first(levels, _TIME)),
    )  # fmt: skip


def _levels(body: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """The object, and those within it that hold its fields; not what a program lists under other names."""
    yield body
    for key in _WITHIN:
        within = body.get(key)
        if isinstance(within, dict):
            yield within
            yield from (within[name] for name in ("labels", "resource") if isinstance(within.get(name), dict))


def _first(levels: Iterable[Mapping[str, Any]], keys: tuple[str, ...]) -> str | int | float | None:
    return next(
        (
            level[key]
            for level in levels
            for key in keys
            if isinstance(level.get(key), (str, int, float)) and not isinstance(level[key], bool) and level[key] != ""
        ),
        None,
    )


def _time(stamp: str | float | None) -> float | None:
    """Seconds since the epoch: of a text, or of a number of seconds, milli-, micro- or nanoseconds."""
    if stamp is None:
        return None
    try:
        number = float(stamp)
    except ValueError:
        return seconds(str(stamp))
    except OverflowError:
        return None
    if not math.isfinite(number):
        return None
    while number > 1e11:
        number /= 1000.0
    return number if number > _THIS_CENTURY_S else None
