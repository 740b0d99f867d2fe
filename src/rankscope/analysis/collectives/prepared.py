"""A rank's recorder completed by what the rank noted of its own calls, where it was prepared.

Recorders of gloo hold no messages, no members of groups, and older torch has no recorder for gloo at all. NCCL's recorder has
its own messages, and a send over NCCL returns long before it is over: what was noted of NCCL is not used here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ...model.evidence.calls import Calls, NotedCall, NotedGroup
from ...model.evidence.recorder import GroupConfig, Recorder, RecorderEntry
from .calls import NOTED, TAG_SHIFT

_MESSAGES = ("send", "recv")
_WAITS_IN_PROCESS = ("gloo", "mpi")  # backends whose calls return when they are over
_TAG_MASK = (1 << 20) - 1
_LATER = 1 << 40  # so that ids of noted calls are never those of recorded ones


def join(recorder: Recorder | None, noted: Calls, rank: int) -> Recorder | None:
    """One recorder of both, for a world rank; None where neither says anything."""
    groups = {
        group.name: group for group in noted.groups
        if group.backend.lower() in _WAITS_IN_PROCESS and rank in group.ranks
    }  # fmt: skip
    recorded = recorder.entries if recorder is not None else ()
    known = {entry.group for entry in recorded if not entry.is_p2p}
    mine = [call for call in noted.calls if call.group in groups and _wanted(call, known)]
    if recorder is None and not mine:
        return None
    whole = (not recorded or recorded[0].id == 0) and noted.begun == len(noted.calls)
    entries = [*(replace(entry, id=entry.id + 1) for entry in recorded),
               *(_entry(call, groups[call.group], rank) for call in mine)]  # fmt: skip
    issued = [*(entry.created_ns for entry in recorded), *(call.entered_ns for call in mine)]
    entries = [entries[at] for at in sorted(range(len(entries)), key=issued.__getitem__)]
    if whole and entries:
        entries[0] = replace(entries[0], id=0)
    base = recorder or Recorder((), source="memory", read_at_ns=noted.read_at_ns)
    return replace(base, entries=tuple(entries), groups=tuple(_groups(base, groups)), enabled=True)


def _wanted(call: NotedCall, known: set[str]) -> bool:
    """Messages to one peer, and the collectives of groups that the recorder does not know."""
    if call.op in _MESSAGES:
        return call.peer is not None
    return call.group not in known and call.op != "monitored_barrier"


def _entry(call: NotedCall, group: NotedGroup, rank: int) -> RecorderEntry:
    """The call as the recorder would have it; a wait counts from when somebody began to wait.

    A call that goes on by itself, and that nobody waits for, holds nobody up.
    """
    made = RecorderEntry(
        id=_LATER + call.number, group=call.group, desc=group.desc, seq=call.n, op=call.op, backend=group.backend,
        done=call.state in ("done", "posted"), state="completed" if call.state == "done" else "scheduled",
        created_ns=call.waited_ns or call.entered_ns, frames=call.frames,
    )  # fmt: skip
    sizes, types = ((call.numel,),) if call.numel else (), (call.dtype,) if call.dtype else ()
    if call.op not in _MESSAGES:
        return replace(made, input_sizes=sizes, output_sizes=sizes, input_dtypes=types, output_dtypes=types)
    own, other = group.ranks.index(rank), call.peer or 0
    number = call.n + ((call.tag & _TAG_MASK) << TAG_SHIFT)
    made = replace(made, seq=0, p2p_seq=number, is_p2p=True, backend=NOTED)
    if call.op == "send":
        return replace(made, peer=(own, other), input_sizes=sizes, input_dtypes=types)
    return replace(made, peer=(other, own), output_sizes=sizes, output_dtypes=types)


def _groups(recorder: Recorder, noted: Mapping[str, NotedGroup]) -> Iterator[GroupConfig]:
    """What the recorder declares, but for what was noted, which has the members."""
    yield from (config for config in recorder.groups if config.name not in noted or config.ranks)
    declared = {config.name for config in recorder.groups if config.ranks}
    yield from (GroupConfig(one.name, one.desc, one.ranks) for one in noted.values() if one.name not in declared)
