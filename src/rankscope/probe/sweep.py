"""Sweeps over the processes of one host: what is asked of whom, and the answers as lines of the wire.

The whole plan runs in children that can be abandoned (``abandon``), each looking at a part of the processes: one process
that blocks costs its deadline and leaves a gap, never the sweep.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Callable

from ..model import wire
from ..model.gap import Gap, Why
from ..model.process import Process, ProcessRef, Role
from . import procfs
from .abandon import Blocked, Send, abreast
from .collector import Collector, Target, collectors
from .engine import StackOptions
from .in_order import InOrder
from .lost_steps import LostSteps
from .recall import Recall

# What a tool that holds a process needs to let go of it and end (child.run asks twice), before our own time is over.
_LET_GO_S = 1.5
# What tells whether a thread moved. Two such looks at one process are at least this part of the interval apart: less than the
# pauses that a program makes tells nothing, and a first sweep on a busy host may take as long as the whole interval.
MOVES = frozenset({"threads", "python-stacks"})
_APART = 0.5
_SHARERS = (Role.RANK, Role.LAUNCHER)
_MOST_ABREAST = 4  # children that look at the same time: the CPUs of a host are its jobs'
_FEW = 16  # of fewer processes for each of them another child costs more than it saves
_LEAST_S = 0.5  # in less than this no tool stops a process, reads it and lets it go


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
    """One thing to do: begin a sweep (no process), or let one collector look at one process; and which child does it."""

    sweep: int
    process: Process | None = None
    collector: Collector | None = None
    part: int = 0


def parts(plan: Plan, processes: tuple[Process, ...], cpus: int) -> tuple[tuple[Process, ...], ...]:
    """Who is looked at by which child: ranks before their helpers, so that a late abort loses the least.

    The first one has all ranks and launchers, since these share servers and files, which are asked by one child only. No two
    processes are paused at the same time.
    """
    ordered = tuple(sorted(processes, key=lambda one: (one.role not in _SHARERS, one.owner is not None, one.ref.pid)))
    sharers = sum(process.role in _SHARERS for process in ordered)
    several = 1 if plan.options.pause or plan.options.native else min(_MOST_ABREAST, cpus, len(ordered) // _FEW)
    each = max(1, -(-len(ordered) // max(1, several)))
    at = max(sharers, each)
    return (ordered[:at], *(ordered[begin : begin + each] for begin in range(at, len(ordered), each)))


def steps(plan: Plan, ordered: tuple[Process, ...], part: int = 0) -> tuple[Step, ...]:
    """What one child does: the plan spelled out for these processes."""
    out = []
    for sweep in range(plan.sweeps):
        out.append(Step(sweep, part=part))
        for collector in collectors(plan.only):
            if sweep and not collector.every_sweep:
                continue
            out.extend(
                Step(sweep, process, collector, part)
                for process in ((ordered[:1] if part == 0 else ()) if collector.per_host else ordered)
                if collector.roles is None or process.role in collector.roles
            )
    return tuple(out)


def run(
    plan: Plan,
    processes: tuple[Process, ...],
    idle: Callable[[], None] = lambda: None,
    meanwhile: Callable[[], object] = lambda: None,
) -> Iterator[str]:
    """Lines of the wire as they come, until the plan is done or its deadline has passed; ``idle`` is called in between, and
    ``meanwhile`` once, when the looking has begun."""
    end = time.monotonic() + plan.deadline_s
    shares = parts(plan, processes, len(os.sched_getaffinity(0)))
    workers = [_Worker(plan, share, end, number, len(shares)) for number, share in enumerate(shares)]
    order = InOrder(len(shares))

    def work(step: Step, send: Send) -> None:
        workers[step.part].work(step, send)

    def deadline_s(step: Step) -> float:
        return workers[step.part].deadline_s(step)

    try:
        rows = [steps(plan, share, number) for number, share in enumerate(shares)]
        for answer in abreast(rows, work, deadline_s, idle, meanwhile):
            step, worker = answer.step, workers[answer.step.part]
            if isinstance(answer.said, Blocked):
                lines = "".join(map(_as_line, (_gap(step, answer.said), *worker.stood_still(step))))
            else:
                worker.heard(step, answer.said)
                lines = answer.said.decode()
            yield from order.take(step.part, step.sweep, step.process is None, lines)
            if time.monotonic() > end:
                break
    except KeyboardInterrupt:
        yield from order.rest()
        raise
    yield from order.rest()
    if time.monotonic() > end:
        yield _as_line(Gap("sweep", Why.TIMEOUT, f"stopped after {plan.deadline_s:g} s: --deadline"))


def _gap(step: Step, blocked: Blocked) -> Gap:
    what = step.collector.kind if step.collector else "sweep"
    return Gap(what, Why.BLOCKED, f"{blocked.reason} ({blocked.after_s:.1f} s)",
               process=step.process.ref if step.process else None)  # fmt: skip


def _as_line(gap: Gap) -> str:
    lines: list[str] = []
    wire.Writer(lines.append).gap(gap)
    return "".join(lines)


class _Worker:
    """What the guarded child remembers from step to step: the last records, and each collector's shelf.

    The one in the parent never works: it keeps what the children said, so that each begins with what the one before it told.
    Shelves are not told of: each child begins with empty ones, so that what is to be asked once a host is asked once by each
    child; a server that does not answer at all is asked twice at most (``Collector.shared``).
    """

    def __init__(
        self, plan: Plan, processes: tuple[Process, ...], end: float, number: int = 0, beside: int = 1
    ) -> None:
        """``number`` is that of this part of ``beside`` ones which are at work at the same time."""
        self._plan, self._processes, self._end = plan, processes, end
        self._alone = beside == 1
        self._lines: list[str] = []
        self._writer = wire.Writer(self._lines.append, itertools.count(number, beside))
        self._records: dict[tuple[ProcessRef, str], Any] = {}
        self._seen: dict[ProcessRef, dict[str, Any]] = {}
        self._shelves: dict[str, dict[str, Any]] = {}
        self._began = 0.0
        # When each look that tells of movement ended last, in monotonic seconds.
        self._looked: dict[tuple[ProcessRef, str], float] = {}
        self._present: frozenset[ProcessRef] = frozenset(process.ref for process in processes)
        self._known = Recall()
        self._lost = LostSteps()

    def deadline_s(self, step: Step) -> float:
        """How long to wait for a step; called in the parent."""
        collector, options, left_s = step.collector, self._plan.options, self._end - time.monotonic()
        wanted = collector.deadline_s if collector else self._plan.interval_s + 5.0
        helper_s = options.deadline_s if collector and collector.by_engine else 0.0
        # A helper that is left alone while it holds a process may leave it stopped: its own deadline comes first.
        held_s = helper_s if options.pause or options.native else 0.0
        wanted += helper_s - held_s
        if collector:
            wanted = self._lost.shortened(wanted, collector, step.process) + self._too_soon_s(step)
        return max(0.1, min(wanted + held_s, left_s))

    def heard(self, step: Step, said: bytes) -> None:
        """Keep what a step said; called in the parent."""
        self._known.hear(said)
        self._note_look(step)
        # A gap alone is no sign that the next one will answer.
        if step.collector and (b'"is":"evidence"' in said or b'"is":"same"' in said):
            self._lost.answered(step.collector)

    def stood_still(self, step: Step) -> Iterator[Gap]:
        """Let the next child know what this one had told, and say when it is enough of a kind; called in the parent."""
        self._take_over()
        if step.collector is not None:
            yield from self._lost.count(step.collector, step.process)

    def work(self, step: Step, send: Send) -> None:
        if step.process is None or step.collector is None:
            self._begin(step.sweep)
        elif step.process.ref in self._present and not self._lost.exhausted(step.collector):
            self._rest(self._too_soon_s(step), told=self._alone)  # others may be at work meanwhile
            self._collect(step.process, step.collector)
            self._note_look(step)
        if self._lines:
            # What no text can hold is lost, not the answer.
            send("".join(self._lines).encode("utf-8", "replace"))
            self._lines.clear()

    def _note_look(self, step: Step) -> None:
        """Remember when this look was over; in the parent for the next child, in the child for itself."""
        if step.process is not None and step.collector is not None and step.collector.kind in MOVES:
            self._looked[step.process.ref, step.collector.kind] = time.monotonic()

    def _too_soon_s(self, step: Step) -> float:
        """How long to rest before a look: sweeps begin an interval apart, the looks of a slow first one may be much nearer."""
        if step.process is None or step.collector is None:
            return 0.0
        last = self._looked.get((step.process.ref, step.collector.kind))
        return max(0.0, last + _APART * self._plan.interval_s - time.monotonic()) if last is not None else 0.0

    def _take_over(self) -> None:
        self._known.understand()
        self._records, self._seen, self._began = self._known.records, self._known.seen, self._known.began_s
        if self._known.present is not None:
            self._present = self._known.present

    def _begin(self, sweep: int) -> None:
        self._rest((self._began + self._plan.interval_s if sweep else self._plan.start_s) - time.time())
        self._began = time.time()
        self._seen.clear()
        self._writer.sweep(sweep, self._began)
        alive = tuple(process.ref for process in self._processes if self._alive(process.ref))
        self._present = frozenset(alive)
        self._writer.present(alive)

    def _rest(self, seconds: float, told: bool = True) -> None:
        if seconds > 0:
            time.sleep(seconds)
            if told:
                self._writer.slept(seconds)

    def _alive(self, ref: ProcessRef) -> bool:
        try:
            return procfs.stat(self._plan.proc, ref.pid).started == ref.started
        except (OSError, ValueError, IndexError):
            return False

    def _collect(self, process: Process, collector: Collector) -> None:
        options = self._plan.options
        if collector.by_engine:
            left_s = self._end - time.monotonic() - _LET_GO_S
            if left_s < _LEAST_S and (options.pause or options.native):
                self._writer.gap(Gap(collector.kind, Why.SKIPPED, "too little time was left to pause it and let go of it",
                                     "--deadline", process.ref))  # fmt: skip
                return
            options = replace(options, deadline_s=max(_LEAST_S, min(options.deadline_s, left_s)))
        key = (process.ref, collector.kind)
        target = Target(
            process, self._plan.proc, self._records.get(key), self._seen.setdefault(process.ref, {}),
            self._shelves.setdefault(collector.kind, {}), options, self._plan.engine,
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
