"""What ranks said before their launcher started them anew is over with them."""

from __future__ import annotations

import pytest

from rankscope.formats.live_log import with_events
from rankscope.model.evidence.environ import Environ
from rankscope.model.evidence.events import Events
from rankscope.model.evidence.log import Logs, LogTail
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep

AGENT = "1122 08:34:53.183000 15431 torch/distributed/elastic/multiprocessing/api.py:"
FAILED = f"E{AGENT}1002] failed (exitcode: 1) local_rank: 1 (pid: %d) of binary: /usr/bin/python"
FIRST = (
    "OSError: [Errno 28] No space left on device: 'state.json'",
    f"W{AGENT}1028] Sending process 60 closing signal SIGTERM",
)
LATER = "RuntimeError: Connection closed by peer"


def said(*tail: str, attempt: str = "1", host: str = "n1") -> list[str]:
    """The lines of a shared log that count, of a job whose ranks have the pids 70 and 71."""
    refs = tuple(ProcessRef(host, pid, 1) for pid in (70, 71))
    processes = tuple(Process(ref, Role.RANK, rank=rank, comm="python") for rank, ref in enumerate(refs))
    log = Logs((LogTail("/job/out.log", 1, 9, 0.0, tail),))
    items = [Item(ref, record) for ref in refs for record in (Environ({"TORCHELASTIC_RESTART_COUNT": attempt}), log)]
    seen = with_events(Snapshot(Job("torchrun"), processes=processes, sweeps=(Sweep(0, 0.0, refs, tuple(items)),)))
    return [one.text for item in seen.sweeps[0].items if isinstance(item.record, Events) for one in item.record.events]


def test_an_error_of_workers_that_were_replaced_is_over() -> None:
    assert said(*FIRST, FAILED % 61) == []
    assert any(LATER in one for one in said(*FIRST, FAILED % 61, LATER))
    assert not any("No space" in one for one in said(*FIRST, FAILED % 61, LATER))


@pytest.mark.parametrize(
    ("tail", "attempt"),
    [((*FIRST, FAILED % 61), "0"), ((FIRST[0], FAILED % 71), "1"), (FIRST[:1], "1")],
)
def test_an_error_of_those_that_are_there_counts(tail: tuple[str, ...], attempt: str) -> None:
    """In the first attempt, of a worker that has not been replaced, and where nobody tells of another attempt."""
    assert any("No space" in one for one in said(*tail, attempt=attempt))
