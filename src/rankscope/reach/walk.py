"""The way to each host, step by step: reach it → start Python → see processes of a job → read their stacks.

One small errand to every host; where it ends tells the step at which a host stops.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..model.evidence.stacks import PythonStacks
from ..model.gap import Why
from ..probe.slurm_job import SLURMD
from ..probe.sweep import Plan
from .answers import Answers, Inbox
from .gather import Remote, find, send
from .join import ahead, skewed
from .transport import Progress

PLAN = Plan(sweeps=1, interval_s=0.0, only=frozenset({"threads", "python-stacks"}), deadline_s=15.0)


class Step(str, enum.Enum):
    """What must work on a host, in this order."""

    REACH = "reach the host"
    PYTHON = "start Python there"
    SEE = "see processes of a job"
    READ = "read their stacks"
    DONE = "all of it"


@dataclass(frozen=True)
class Way:
    """How far the way to one host leads: the step that failed (DONE: none), why, and what would help."""

    host: str
    step: Step
    detail: str
    hint: str = ""


def walk(remote: Remote, plan: Plan = PLAN, progress: Progress = lambda _: None) -> Iterator[Way]:
    """Every host of a target, in its order."""
    hosts = find(remote)
    answers = Answers(hosts.all)
    for gap in hosts.gaps:
        answers.gaps[gap.host or ""] = gap
    began = time.monotonic()
    send(remote, hosts, replace(plan, start_s=0.0), answers, progress)
    answers.close(time.monotonic() - began)
    for name in hosts.all:
        yield _way(name, answers)


def _way(name: str, answers: Answers) -> Way:
    gap, inbox = answers.gaps.get(name), answers.inboxes[name]
    if gap is not None and not inbox.answered:
        python = "sudo" in gap.detail or (
            gap.why in (Why.MISSING, Why.FAILED) and (inbox.noise or "Python" in gap.detail)
        )
        return Way(name, Step.PYTHON if python else Step.REACH, gap.detail, gap.hint)
    parts = inbox.parts()
    processes = [process for part in parts for process in part.snapshot.processes]
    if not processes:
        told = [one for part in parts for one in part.snapshot.gaps if one.why is Why.DENIED or one.what == SLURMD]
        closed = sorted(told, key=lambda one: one.why is not Why.DENIED)
        return Way(name, Step.SEE, closed[0].detail if closed else "no distributed Python job was found there",
                   closed[0].hint if closed else "")  # fmt: skip
    return _read(name, inbox, len(processes))


def _read(name: str, inbox: Inbox, count: int) -> Way:
    snapshots = [part.snapshot for part in inbox.parts()]
    read = sum(
        isinstance(item.record, PythonStacks) for one in snapshots for sweep in one.sweeps for item in sweep.items
    )
    refused = [gap for one in snapshots for gap in one.gaps if gap.what == "python-stacks"]
    python = f"Python {(inbox.about or {}).get('python', '')}"
    if not read and refused:
        return Way(name, Step.READ, f"{count} processes: {refused[0].detail or refused[0].why.value}", refused[0].hint)
    unread = f", {len(refused)} could not be read" if refused else ""
    shared = "; uses the installation there" if (inbox.about or {}).get("installation") == "used" else ""
    clock = f"; its clock is {ahead(inbox.offset_s or 0.0)}" if skewed(inbox.offset_s) else ""
    return Way(name, Step.DONE, f"{python}; {count} processes, stacks of {read}{unread}{shared}{clock}")
