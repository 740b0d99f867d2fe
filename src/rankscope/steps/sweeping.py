"""Look at one job of this host, and rehearse the verdict meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ..model import wire
from ..model.gap import Gap
from ..model.snapshot import Effort, Host, Snapshot
from ..probe.discover import Found
from ..probe.sweep import Plan, run
from .judging import defect, judge
from .loading import make_ready_to_judge, undisturbed

if TYPE_CHECKING:
    from ..formats.snapshot import Reader

Progress = Callable[[str], None]

_FEW = 8  # processes to rehearse the verdict with


def sweep(here: Host, found: Found, plan: Plan, progress: Progress = lambda _: None, judged: bool = False) -> Snapshot:
    """Look at one job; an interruption keeps what has been gathered. What a verdict needs is made ready meanwhile where the
    job is to be ``judged``."""
    began = time.monotonic()
    reader: Reader | None = None
    complete, rehearsal = True, Rehearsal(due=judged and plan.sweeps > 1)

    def idle() -> None:
        if reader is not None and rehearsal.due:
            rehearsal(reader.snapshot())

    # Between two looks there is time to load; beside the first one it would take a CPU from the children that look.
    meanwhile = make_ready_to_judge if judged and not rehearsal.due else lambda: None
    try:
        for lines in run(plan, found.processes, idle=idle, meanwhile=meanwhile):
            reader = reader or _reader(here, found)
            for line in lines.splitlines(keepends=True):
                reader.feed(line.encode())
            if rehearsal.due and reader.sweeps > 1:
                rehearsal.missed()
            progress(f"{len(found.processes)} processes")
    except KeyboardInterrupt:
        complete = False
    reader = reader or _reader(here, found)
    effort = Effort(round(time.monotonic() - began, 3), paused_ms_max=_paused(reader.snapshot()))
    wire.Writer(lambda line: reader.feed(line.encode())).end(effort, complete)
    return rehearsal.told(reader.snapshot())


@undisturbed()
def _reader(here: Host, found: Found) -> Reader:
    """What takes the lines of a sweep and knows who is there; loaded while the child that sends them is at work."""
    from ..formats.snapshot import Reader

    reader = Reader()
    reader.introduce(found.job, (here,), found.processes, found.gaps)
    return reader


class Rehearsal:
    """Judges a few processes while everybody sleeps between two sweeps, so that all it needs is loaded and compiled then,
    which is most of what a verdict costs.

    Its defect costs nobody the look: it is a gap of the snapshot, since the verdict on more evidence may not show it.
    """

    def __init__(self, due: bool = True) -> None:
        self.due = due
        self._defects: tuple[Gap, ...] = ()

    def __call__(self, seen: Snapshot) -> None:
        self.due = False
        with undisturbed():
            try:
                from ..reach.answers import share

                judge(share(seen, seen.job, 0, _FEW))
            except Exception as error:
                self._defects = (defect("rehearsal of the verdict", error),)

    def missed(self) -> None:
        """Nobody slept, so that what judges is loaded beside the second look."""
        self.due = False
        make_ready_to_judge()

    def told(self, seen: Snapshot) -> Snapshot:
        """A snapshot, and with it what went wrong here."""
        return replace(seen, gaps=(*seen.gaps, *self._defects)) if self._defects else seen


def _paused(snapshot: Snapshot) -> float:
    return max(
        (getattr(item.record, "paused_ms", 0.0) for sweep in snapshot.sweeps for item in sweep.items), default=0.0
    )
