"""Records as JSON Lines: how the probe talks and how snapshots are stored.

One line, one object: ``{"is": …, …}``. Lines come in the order things were seen, so a stream that breaks off is still
worth reading. Equal stacks are written once, as ``{"is": "stack", "id": n, "frames": […]}`` before their first use.
"""

from __future__ import annotations

import dataclasses
import enum
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable

from .evidence.stacks import Stack
from .gap import Gap
from .process import Process, ProcessRef
from .snapshot import SCHEMA, VERSION, Effort, Host, Job, Snapshot, Sweep

_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


class Writer:
    """Turns records into lines and hands each to ``emit``; remembers the stacks it has written. Writers of one snapshot
    number these from ``ids``, which no two of them share."""

    def __init__(self, emit: Callable[[str], object], ids: Iterable[int] | None = None) -> None:
        self._emit, self._ids = emit, iter(ids if ids is not None else itertools.count())
        self._stacks: dict[Stack, int] = {}

    def header(self, made_by: str, job: Job, hosts: tuple[Host, ...], live: bool = True) -> None:
        self._line("snapshot", {"schema": SCHEMA, "version": VERSION, "made_by": made_by, "live": live,
                                "job": self.plain(job), "hosts": self.plain(hosts)})  # fmt: skip

    def process(self, process: Process) -> None:
        self._line("process", self.plain(process))

    def sweep(self, index: int, at_s: float) -> None:
        self._line("sweep", {"index": index, "at_s": at_s})

    def present(self, refs: tuple[ProcessRef, ...]) -> None:
        self._line("present", {"processes": [ref.key for ref in refs]})

    def evidence(self, process: ProcessRef | None, record: Any) -> None:
        body: dict[str, Any] = {"of": record.KIND}
        if process is not None:
            body["process"] = process.key
        body["data"] = self.plain(record)
        self._line("evidence", body)

    def same(self, process: ProcessRef, kind: str) -> None:
        """This process's evidence of one kind is what it was in the sweep before."""
        self._line("same", {"of": kind, "process": process.key})

    def gap(self, gap: Gap) -> None:
        self._line("gap", self.plain(gap))

    def slept(self, seconds: float) -> None:
        """How long nobody was looked at, so that looks are as far apart as they should be."""
        self._line("slept", {"seconds": round(seconds, 3)})

    def end(self, effort: Effort, complete: bool = True) -> None:
        """What the look cost, beside the sleep that lines before this one have told."""
        self._line("end", {"effort": self.plain(effort), "complete": complete})

    def _line(self, kind: str, body: dict[str, Any]) -> None:
        self._emit(_dumps({"is": kind, **body}) + "\n")

    def plain(self, value: Any) -> Any:
        """A record as plain JSON values; fields that hold their default are left out."""
        if value is None or isinstance(value, (str, int, float, bool)):
            return value.value if isinstance(value, enum.Enum) else value
        if isinstance(value, Stack):
            return self._stack(value)
        if isinstance(value, Sequence):
            return [self.plain(item) for item in value]
        if isinstance(value, Mapping):
            return {str(key): self.plain(item) for key, item in value.items()}
        out = {}
        for name, default in _fields(type(value)):
            held = getattr(value, name)
            if held is not default and held != default:
                out[name] = self.plain(held)
        return out

    def _stack(self, stack: Stack) -> int:
        known = self._stacks.get(stack)
        if known is None:
            known = self._stacks[stack] = next(self._ids)
            frames = [
                [frame.function, frame.file, frame.line] if frame.library is None
                else [frame.function, frame.file, frame.line, frame.library]
                for frame in stack
            ]  # fmt: skip
            self._line("stack", {"id": known, "frames": frames})
        return known


_FIELDS: dict[type, tuple[tuple[str, Any], ...]] = {}


def _fields(cls: type) -> tuple[tuple[str, Any], ...]:
    """Names and defaults of a record's fields; a sentinel stands for a default that is made anew each time."""
    if cls not in _FIELDS:
        _FIELDS[cls] = tuple((field.name, field.default) for field in dataclasses.fields(cls))
    return _FIELDS[cls]


def write(snapshot: Snapshot, made_by: str, emit: Callable[[str], object]) -> None:
    """Write a whole snapshot, evidence that did not change since the last sweep as one word."""
    writer = Writer(emit)
    writer.header(made_by, snapshot.job, snapshot.hosts, snapshot.live)
    for process in snapshot.processes:
        writer.process(process)
    before: dict[tuple[ProcessRef | None, str], Any] = {}
    for sweep in snapshot.sweeps:
        before = _write_sweep(writer, sweep, before)
    for gap in snapshot.gaps:
        writer.gap(gap)
    writer.end(snapshot.effort, snapshot.complete)


def _write_sweep(writer: Writer, sweep: Sweep, before: dict[Any, Any]) -> dict[Any, Any]:
    writer.sweep(sweep.index, sweep.at_s)
    writer.present(sweep.present)
    now: dict[tuple[ProcessRef | None, str], Any] = {}
    for item in sweep.items:
        key = (item.process, item.record.KIND)
        now[key] = item.record
        if item.process is not None and before.get(key) == item.record:
            writer.same(item.process, item.record.KIND)
        else:
            writer.evidence(item.process, item.record)
    return now
