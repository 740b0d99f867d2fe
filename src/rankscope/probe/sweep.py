"""Sweeps over the processes of one host: what is asked of whom, and the answers as lines of the wire.

The whole plan runs in a child that can be abandoned (``abandon``): one process that blocks costs its deadline and leaves
a gap, never the sweep.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Callable

from ..model import wire
from ..model.gap import Gap, Why
from ..model.process import Process, ProcessRef
from . import procfs
from .abandon import Blocked, Send, guarded
from .collector import Collector, Target, collectors
from .engine import StackOptions


@dataclass(frozen=True)
class Plan:
    """How to look: how often, how far apart, and with what. ``start_s`` is a wall-clock time that all hosts share."""

    sweeps: int = 2
    interval_s: float = 1.0
    options: StackOptions = field(default_factory=StackOptions)
    engine: str = "auto"
    only: frozenset[str] | None = None  # kinds of evidence; None for all
    proc: str = "/proc"
    start_s: float = 0.0
    deadline_s: float = 60.0


@dataclass(frozen=True)
class Step:
    """One thing to do: begin a sweep (no process), or let one collector look at one process."""

    sweep: int
    process: Process | None = None
    collector: Collector | None = None


def steps(plan: Plan, processes: tuple[Process, ...]) -> tuple[Step, ...]:
    """The plan spelled out: ranks before their helpers, so that a late abort loses the least."""
    first = sorted(processes, key=lambda process: (process.owner is not None, process.ref.pid))
    out = []
    for sweep in range(plan.sweeps):
        out.append(Step(sweep))
        for collector in collectors(plan.only):
            if sweep and not collector.every_sweep:
                continue
            out.extend(
                Step(sweep, process, collector)
                for process in (first[:1] if collector.per_host else first)
                if collector.roles is None or process.role in collector.roles
            )
    return tuple(out)


def run(plan: Plan, processes: tuple[Process, ...], idle: Callable[[], None] = lambda: None) -> Iterator[str]:
    """Lines of the wire as they come, until the plan is done or its deadline has passed; ``idle`` is called in between."""
    todo = steps(plan, processes)
    end = time.monotonic() + plan.deadline_s
    worker = _Worker(plan, processes)
    for answer in guarded(todo, worker.work, lambda step: _deadline(step, plan, end), idle):
        if isinstance(answer.said, Blocked):
            yield from _line_of_gap(_gap(answer.step, answer.said))
        else:
            yield answer.said.decode()
        if time.monotonic() > end:
            yield from _line_of_gap(Gap("sweep", Why.TIMEOUT, f"stopped after {plan.deadline_s:g} s: --deadline"))
            return


def _deadline(step: Step, plan: Plan, end: float) -> float:
    wanted = step.collector.deadline_s if step.collector else plan.interval_s + 5.0
    if step.collector and step.collector.by_engine:
        # A helper that is left alone while it holds a process may leave it stopped: its own deadline comes first.
        wanted += plan.options.deadline_s
    return max(0.1, min(wanted, end - time.monotonic()))


def _gap(step: Step, blocked: Blocked) -> Gap:
    what = step.collector.kind if step.collector else "sweep"
    return Gap(what, Why.BLOCKED, f"{blocked.reason} ({blocked.after_s:.1f} s)",
               process=step.process.ref if step.process else None)  # fmt: skip


def _line_of_gap(gap: Gap) -> Iterator[str]:
    lines: list[str] = []
    wire.Writer(lines.append).gap(gap)
    yield from lines


class _Worker:
    """What the guarded child remembers from step to step: the last records, and each collector's shelf."""

    def __init__(self, plan: Plan, processes: tuple[Process, ...]) -> None:
        self._plan, self._processes = plan, processes
        self._lines: list[str] = []
        self._writer = wire.Writer(self._lines.append)
        self._records: dict[tuple[ProcessRef, str], Any] = {}
        self._seen: dict[ProcessRef, dict[str, Any]] = {}
        self._shelves: dict[str, dict[str, Any]] = {}
        self._began = 0.0
        self._present: frozenset[ProcessRef] = frozenset(process.ref for process in processes)

    def work(self, step: Step, send: Send) -> None:
        if step.process is None or step.collector is None:
            self._begin(step.sweep)
        elif step.process.ref in self._present:
            self._collect(step.process, step.collector)
        if self._lines:
            send("".join(self._lines).encode())
            self._lines.clear()

    def _begin(self, sweep: int) -> None:
        wait = (self._began + self._plan.interval_s if sweep else self._plan.start_s) - time.time()
        if wait > 0:
            time.sleep(wait)
        self._began = time.time()
        self._seen.clear()
        self._writer.sweep(sweep, self._began)
        alive = tuple(process.ref for process in self._processes if self._alive(process.ref))
        self._present = frozenset(alive)
        self._writer.present(alive)

    def _alive(self, ref: ProcessRef) -> bool:
        try:
            return procfs.stat(self._plan.proc, ref.pid).started == ref.started
        except (OSError, ValueError, IndexError):
            return False

    def _collect(self, process: Process, collector: Collector) -> None:
        key = (process.ref, collector.kind)
        target = Target(
            process, self._plan.proc, self._records.get(key), self._seen.setdefault(process.ref, {}),
            self._shelves.setdefault(collector.kind, {}), self._plan.options, self._plan.engine,
        )  # fmt: skip
        answer = _ask(collector, target)
        for record in answer if isinstance(answer, tuple) else (answer,):
            if isinstance(record, Gap):
                self._writer.gap(record)
            elif record is not None:
                self._keep(process.ref, record)

    def _keep(self, ref: ProcessRef, record: Any) -> None:
        key = (ref, record.KIND)
        self._seen.setdefault(ref, {})[record.KIND] = record
        if self._records.get(key) == record:
            self._writer.same(ref, record.KIND)
        else:
            self._records[key] = record
            self._writer.evidence(ref, record)


def _ask(collector: Collector, target: Target) -> Any:
    """One collector's answer; what it could not learn, for whatever reason, is a gap."""
    ref = target.process.ref
    try:
        return collector.collect(target)
    except PermissionError as error:
        return Gap(collector.kind, Why.DENIED, f"{error.filename or ''}: {error.strerror}".lstrip(": "),
                   "run as the job's user or root (rankscope explain ptrace)", ref)  # fmt: skip
    except (FileNotFoundError, ProcessLookupError):
        why = Why.MISSING if os.path.exists(target.path) else Why.GONE
        return Gap(collector.kind, why, "the process ended while we looked" if why is Why.GONE else "", process=ref)
    except OSError as error:
        return Gap(collector.kind, Why.FAILED, str(error)[:200], process=ref)
    except Exception as error:
        # One collector's bug must not cost the evidence of the others; the report shows it.
        return Gap(collector.kind, Why.FAILED, f"{type(error).__name__}: {error}"[:200], "please report this", ref)
