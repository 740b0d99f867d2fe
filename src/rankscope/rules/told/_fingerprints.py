"""What torch's DETAIL mode says of two ranks that meet in different calls (ProcessGroupWrapper.cpp)."""

from __future__ import annotations

from ...model.evidence.events import Event

# Calls that carry a decision or a size rather than data: whoever makes one alone has entered a section of its own.
_CONTROL = {"BROADCAST", "BARRIER", "GATHER", "SCATTER", "ALLGATHER_COALESCED"}


def lonely_call(said: list[Event]) -> tuple[int | None, str] | None:
    """The rank that makes a call of its own rather than the same call with other arguments."""
    for event in said:
        mine, other = str(event.fields.get("op", "")), str(event.fields.get("other_op", ""))
        if not other:
            continue
        apart = isinstance(event.fields.get("seq"), int) and event.fields.get("seq") != event.fields.get("other_seq")
        if mine == other and not apart:
            continue
        for rank, op, shape in (
            (event.rank, mine, event.fields.get("shape")),
            (event.fields.get("other"), other, event.fields.get("other_shape")),
        ):
            if op in _CONTROL or (mine != other and shape in ((1,), (), None)):
                return (rank if isinstance(rank, int) else None), op
        if apart:
            return None, mine
    return None
