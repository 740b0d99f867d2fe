"""How far the clocks of several logs are apart, judged by moments that all of them have in common.

Ranks of one job end a step, and the set-up of a communicator, together: what their logs call that moment should be equal.
Logs whose time stamps lack a zone are often whole hours apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median

from ..model.evidence.events import Event
from ..model.labels import STEP

# Fewer common moments prove nothing.
LEAST = 3
# Below this ranks are apart because one is slower, not because its clock is wrong.
WORTH_S = 1.0


def source_of(event: Event) -> str:
    """Whose clock stamped a line: its host's, else that of whoever wrote the file."""
    return event.host or event.file


def offsets(events: Iterable[Event]) -> dict[str, float]:
    """Seconds by which the clock of each source is ahead of the one that shares most moments; only those worth a word."""
    moments: dict[str, dict[str, float]] = {}
    for event in events:
        if event.at_s is not None and (key := _moment(event)) is not None:
            moments.setdefault(source_of(event), {}).setdefault(key, event.at_s)
    if len(moments) < 2:
        return {}
    reference = max(moments, key=lambda one: len(moments[one]))
    found = {one: _ahead(moments[one], moments[reference]) for one in moments if one != reference}
    return {one: ahead for one, ahead in found.items() if ahead is not None and abs(ahead) >= WORTH_S}


def _moment(event: Event) -> str | None:
    if event.event == "nccl.comm_init_complete":
        comm = event.fields.get("comm_id")
        return f"communicator {comm}" if comm else None
    found = STEP.search(event.text)
    return f"step {found.group(1)}" if found else None


def _ahead(mine: Mapping[str, float], theirs: Mapping[str, float]) -> float | None:
    """The median difference where the differences agree; None where they do not, or are too few."""
    apart = sorted(mine[key] - theirs[key] for key in mine.keys() & theirs.keys())
    if len(apart) < LEAST:
        return None
    middle = median(apart)
    spread = apart[-len(apart) // 4 - 1] - apart[len(apart) // 4]
    return middle if abs(middle) > 4 * spread else None
