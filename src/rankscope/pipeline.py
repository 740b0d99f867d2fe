"""The whole story in order: find → sweep → snapshot → case → diagnosis.

``gather`` takes live evidence on this host or on all hosts of a job, ``judge`` draws the conclusions; a snapshot file
joins the two, so that both can run on different machines.
"""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .model import wire
from .model.gap import Gap, Why
from .model.snapshot import Effort, Host, Snapshot
from .probe import discover, engines, host
from .probe.discover import Found
from .probe.launcher import launchers
from .probe.sweep import MOVES, Plan, run
from .probe.table import read_table

if TYPE_CHECKING:
    from .analysis.case import Case
    from .formats.snapshot import Reader
    from .model.diagnosis import Diagnosis, Finding
    from .model.evidence.source import Place
    from .probe.source_lines import Lines
    from .reach.gather import Remote
    from .reach.transport import Options

Progress = Callable[[str], None]

_FEW = 8  # processes to rehearse the verdict with


@dataclass(frozen=True)
class Look:
    """What to look at and how; ``pid`` is None for every job of this host, ``remote`` a job on other hosts, ``follow`` how
    to get to the hosts that a job of this host names (None: only name them)."""

    pid: int | None = None
    plan: Plan = field(default_factory=Plan)
    proc: str = "/proc"
    remote: Remote | None = None
    follow: Options | None = None


def find(look: Look) -> tuple[Host, tuple[Found, ...]]:
    """The jobs on this host (or the one that a pid belongs to)."""
    here = host.describe(look.proc)
    table = read_table(here.name, look.proc, meanwhile=_make_ready_to_look)
    if look.pid is None:
        return here, discover.with_gaps(table, discover.jobs(table))
    found = discover.job_of(table, look.pid)
    return here, discover.with_gaps(table, (found,) if found else ())


def closed(proc: str = "/proc") -> tuple[Gap, ...]:
    """What on this host may be a job, and did not let itself be looked at."""
    return discover.closed(read_table(host.describe(proc).name, proc))


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Ctrl-C waits for the end of the block, which does not last: where one comes while modules are loaded, CPython before 3.12
    makes a RuntimeError of it (``Error calling __set_name__``), which nobody takes for an interruption."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(came[0])


@undisturbed()
def _make_ready_to_look() -> None:
    """Load what the next steps need while a child reads the list of processes; its own child will find it loaded."""
    launchers()
    engines.load("memory")


@undisturbed()
def _make_ready_to_judge() -> None:
    """Load what judges while the first sweep is at work in its child, which is most of what a verdict costs."""
    from .analysis import build, verdict  # noqa: F401
    from .formats import live_log  # noqa: F401
    from .report import screen  # noqa: F401
    from .rules import rules

    rules()


def sweep(here: Host, found: Found, plan: Plan, progress: Progress = lambda _: None, judged: bool = False) -> Snapshot:
    """Look at one job; an interruption keeps what has been gathered. What a verdict needs is made ready meanwhile where the
    job is to be ``judged``."""
    began = time.monotonic()
    reader: Reader | None = None
    complete, rehearsal = True, _Rehearsal(due=judged and plan.sweeps > 1)

    def idle() -> None:
        if reader is not None and rehearsal.due:
            rehearsal(reader.snapshot())

    try:
        for lines in run(plan, found.processes, idle=idle, meanwhile=_make_ready_to_judge if judged else lambda: None):
            reader = reader or _reader(here, found)
            for line in lines.splitlines(keepends=True):
                reader.feed(line.encode())
            progress(f"{len(found.processes)} processes")
    except KeyboardInterrupt:
        complete = False
    reader = reader or _reader(here, found)
    effort = Effort(round(time.monotonic() - began, 3), paused_ms_max=_paused(reader.snapshot()))
    wire.Writer(lambda line: reader.feed(line.encode())).end(effort, complete)
    return reader.snapshot()


@undisturbed()
def _reader(here: Host, found: Found) -> Reader:
    """What takes the lines of a sweep and knows who is there; loaded while the child that sends them is at work."""
    from .formats.snapshot import Reader

    reader = Reader()
    reader.introduce(found.job, (here,), found.processes, found.gaps)
    return reader


# The longest wait between two looks at a thread that may move.
_PATIENCE_S = 4.0
_LONGER = 3  # so many times the deadline may pass in all while one looks on, where nothing less tells


def _may_run_on(found: Found, snapshot: Snapshot) -> bool:
    """Whether it is a lone program, or somebody stands in a call that waits at full speed, or asks again and again, perhaps for
    what a dead child should have brought."""
    from .analysis.asking import may_ask
    from .analysis.dead_children import killed
    from .model.evidence.stacks import MPI, PythonStacks
    from .model.evidence.threads import Threads

    records = [item.record for sweep in snapshot.sweeps[-1:] for item in sweep.items]
    if found.job.launcher == discover.ALONE or any(isinstance(one, Threads) and killed(one) for one in records):
        return True
    threads = (thread for one in records if isinstance(one, PythonStacks) for thread in one.threads)
    return any(may_ask(one) or any(frame.file.endswith(MPI) for frame in one.stack) for one in threads)


def _look_on(
    here: Host, found: Found, plan: Plan, snapshot: Snapshot, stuck_after_s: float, progress: Progress
) -> Snapshot:
    """Look on at what computes or spins at one place, until it moves or has been there long enough to count; not where that is
    farther away than a few deadlines."""
    from .analysis import patience

    root, end = found.job.root, time.monotonic() + (_LONGER - 1) * plan.deadline_s
    while root is not None and (left_s := patience.left_s(case_of(snapshot, stuck_after_s))) is not None:
        if left_s > (rest_s := end - time.monotonic()):
            return replace(snapshot, gaps=(*snapshot.gaps, _too_far(left_s, rest_s, plan.deadline_s)))
        wait_s = min(_PATIENCE_S, left_s + 0.1)
        progress(f"process {root.pid}, which runs or pauses at one place; {left_s:.0f} s more tell whether for ever")
        again = replace(plan, sweeps=1, interval_s=wait_s, start_s=time.time() + wait_s, deadline_s=wait_s + 10.0,
                        only=MOVES)  # fmt: skip
        snapshot = patience.followed(snapshot, sweep(here, found, again))
    return snapshot


def _too_far(left_s: float, rest_s: float, deadline_s: float) -> Gap:
    detail = (
        f"{left_s:.0f} s more would tell whether it stays where it is, and {max(0.0, rest_s):.0f} s were left for that"
    )
    wanted_s = deadline_s + (left_s - rest_s) / (_LONGER - 1)
    return Gap("looking on", Why.SKIPPED, detail, f"--deadline {math.ceil(wanted_s) + 1}")


class _Rehearsal:
    """Judges a few processes while everybody sleeps between two sweeps, so that all it needs is loaded and compiled then."""

    def __init__(self, due: bool = True) -> None:
        self.due = due

    def __call__(self, seen: Snapshot) -> None:
        from .reach.answers import share

        self.due = False
        with undisturbed(), contextlib.suppress(Exception):  # the verdict itself will show what is wrong
            judge(share(seen, seen.job, 0, _FEW))


def _paused(snapshot: Snapshot) -> float:
    return max(
        (getattr(item.record, "paused_ms", 0.0) for sweep in snapshot.sweeps for item in sweep.items), default=0.0
    )


def judge(snapshot: Snapshot, stuck_after_s: float = 30.0) -> Diagnosis:
    """The diagnosis of a snapshot, wherever it came from."""
    from .analysis.build import build
    from .analysis.verdict import conclude
    from .formats.live_log import with_events
    from .rules import rules

    case = build(with_events(snapshot), stuck_after_s)
    findings: list[Finding] = []
    defects = []
    for rule in rules():
        if any(one.rule in rule.yields_to for one in findings):
            continue
        try:
            findings.extend(rule.check(case))
        except Exception as error:  # one rule's defect must not cost what the others see
            defects.append(
                Gap(f"rule {rule.id}", Why.FAILED, f"{type(error).__name__}: {error}"[:200], "please report this")
            )
    diagnosis = conclude(case, findings)
    return replace(diagnosis, gaps=(*diagnosis.gaps, *defects)) if defects else diagnosis


def case_of(snapshot: Snapshot, stuck_after_s: float = 30.0) -> Case:
    """The case alone, for reports that show stacks."""
    from .analysis.build import build

    return build(snapshot, stuck_after_s)


def gather(look: Look, progress: Progress = lambda _: None, stuck_after_s: float | None = None) -> Iterator[Snapshot]:
    """One snapshot per job: of this host, or joined from all hosts of a target.

    With ``stuck_after_s``, a look at a lone program may last until that time is over.
    """
    if look.remote is not None:
        from .reach.gather import gather as gather_remote  # only where a target names other hosts

        rehearsal = _Rehearsal() if stuck_after_s is not None and look.plan.sweeps > 1 else None
        yield from gather_remote(look.remote, look.plan, progress, rehearsal=rehearsal)
        return
    from .reach import learn

    here, jobs = find(look)
    for found in jobs:
        snapshot = sweep(here, found, look.plan, progress, judged=stuck_after_s is not None)
        try:
            if stuck_after_s is not None and look.plan.sweeps > 1 and _may_run_on(found, snapshot):
                snapshot = _look_on(here, found, look.plan, snapshot, stuck_after_s, progress)
            joined = list(learn.follow(snapshot, look.plan, look.follow, progress))
        except KeyboardInterrupt:  # what was seen before stays
            joined = [replace(snapshot, complete=False)]
        yield from joined


def look_again(look: Look, found: Found, plan: Plan) -> Snapshot:
    """Look once more at some processes of a job, wherever they run."""
    if look.remote is None:
        return sweep(host.describe(look.proc), found, plan)
    from .reach import again

    return again.look(look.remote, [process.ref for process in found.processes], plan)


def source(look: Look, places: Sequence[Place], around: int) -> dict[Place, Lines]:
    """The lines around places where processes stand: of this host, and of those that the look went to."""
    from .probe import source_lines

    here = host.describe(look.proc).name
    read = source_lines.read([place for place in places if place.ref.host == here], around, look.proc)
    away = [place for place in places if place.ref.host != here]
    if away and look.remote is not None:
        from .reach import again

        read.update(again.source(look.remote, away, around))
    return read


def diagnose(
    look: Look, stuck_after_s: float, progress: Progress = lambda _: None
) -> Iterator[tuple[Snapshot, Diagnosis]]:
    """One snapshot and one diagnosis per job."""
    began = time.monotonic()
    for snapshot in gather(look, progress, stuck_after_s):
        yield snapshot, told(look, snapshot, stuck_after_s, began)
        began = time.monotonic()


def told(look: Look, snapshot: Snapshot, stuck_after_s: float, began: float) -> Diagnosis:
    """The diagnosis of a job as the user of a look reads it, and what it took since ``began`` (monotonic seconds)."""
    diagnosis = _for_reader(judge(snapshot, stuck_after_s), look)
    return replace(diagnosis, effort=replace(snapshot.effort, took_s=round(time.monotonic() - began, 3)))


def _for_reader(diagnosis: Diagnosis, look: Look) -> Diagnosis:
    """The diagnosis with commands that reach the job from where the user sits."""
    from .analysis.commands import addressed  # not before the job has been looked at
    from .reach import address

    here = host.describe(look.proc).name
    remote = look.remote
    to = address.away(here, remote, diagnosis.gaps) if remote is not None else address.beside(here, look.follow)
    return addressed(diagnosis, to)
