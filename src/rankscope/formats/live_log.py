"""What the ends of a live job's logs say, as events beside the evidence of its processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..model.evidence.environ import Environ
from ..model.evidence.error_files import ErrorFiles
from ..model.evidence.events import Event, Events
from ..model.evidence.log import Logs, LogTail
from ..model.labels import STEP
from ..model.process import ProcessRef
from ..model.snapshot import Item, Snapshot
from . import error_json
from .margin import Margin, margin_of
from .text import TextReader


def with_events(snapshot: Snapshot) -> Snapshot:
    """The snapshot with the events of its log tails; a log that several processes share speaks for the job."""
    if not snapshot.live or not snapshot.sweeps:
        return snapshot
    tails: dict[tuple[str, str], tuple[LogTail, set[ProcessRef]]] = {}
    for sweep in snapshot.sweeps:
        for item in sweep.items:
            if isinstance(item.record, Logs) and item.process is not None:
                for tail in item.record.logs:
                    users = tails.get((item.process.host, tail.path), (tail, set()))[1]
                    tails[item.process.host, tail.path] = (tail, users | {item.process})
    again = _restarted(snapshot)
    found = tuple(
        Item(next(iter(users)) if len(users) == 1 else None, Events(said))
        for (host, _), (tail, users) in tails.items()
        if (said := _of_now(_events(tail), again.get(host, frozenset())))
    )
    found = (*found, *_error_files(snapshot))
    if not found:
        return snapshot
    first, *rest = snapshot.sweeps
    return replace(snapshot, sweeps=(replace(first, items=(*first.items, *found)), *rest))


# What torchrun says when it ends its workers, before it starts others in their place (torch/distributed/elastic).
_ENDS = ("elastic.worker_failed", "elastic.signal_sent")


def _restarted(snapshot: Snapshot) -> dict[str, frozenset[int]]:
    """The pids that live on each host where the launcher has started its ranks anew."""
    hosts = {item.process.host for item in snapshot.sweeps[0].items if isinstance(item.record, Environ) and item.process
             and item.record.values.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"}  # fmt: skip
    present = snapshot.sweeps[-1].present
    return {host: frozenset(ref.pid for ref in present if ref.host == host) for host in hosts}


def _of_now(said: tuple[Event, ...], alive: frozenset[int]) -> tuple[Event, ...]:
    """What a log says of the workers that live now: what comes before the end of earlier ones is over with them."""
    ends = [one.line for one in said if alive and one.event in _ENDS and one.pid not in alive]
    return tuple(one for one in said if one.line > max(ends, default=0))


def _error_files(snapshot: Snapshot) -> Iterator[Item]:
    """What failed ranks under torchrun left in their error files; the files speak for the job."""
    for sweep in snapshot.sweeps:
        for item in sweep.items:
            if isinstance(item.record, ErrorFiles):
                said = [replace(event, file=one.path, rank=one.rank) for one in item.record.files
                        for event in error_json.read(one.text) if isinstance(event, Event)]  # fmt: skip
                yield Item(None, Events(tuple(said)))


def _events(tail: LogTail) -> tuple[Event, ...]:
    reader = TextReader(small=False, margin=Margin(labels=margin_of("\n".join(tail.tail)).labels))
    records = [record for number, line in enumerate(tail.tail, 1) for record in reader.feed(number, line)]
    records.extend(reader.close())
    # Steps that follow a message tell that it was outlived.
    records.extend(
        Event("progress.step", line=number, text=line[:500])
        for number, line in enumerate(tail.tail, 1)
        if STEP.search(line)
    )
    return tuple(replace(one, file=tail.path) for one in records if isinstance(one, Event))
