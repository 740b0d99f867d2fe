"""The entries of a flight recorder, kept in columns: two thousand a rank times a thousand ranks must fit in memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from .evidence.recorder import RecorderEntry
from .evidence.stacks import Frame

STATES = ("scheduled", "started", "completed")


@dataclass(frozen=True, eq=False)
class Call:
    """What the entries of one call site have in common; equal calls of all ranks share one object."""

    group: str
    desc: str
    op: str
    pg_id: int = -1
    backend: str = ""
    peer: tuple[int, int] | None = None
    is_p2p: bool = False
    input_sizes: tuple[tuple[int, ...], ...] = ()
    output_sizes: tuple[tuple[int, ...], ...] = ()
    input_dtypes: tuple[str, ...] = ()
    output_dtypes: tuple[str, ...] = ()
    timeout_ms: int = 0
    thread: str = ""
    frames: tuple[Frame, ...] = ()

    @property
    def closes_batch(self) -> bool:
        """Is it torch's own entry for a whole batch (``coalesced``, ``ALLGATHER_coalesced``), written after its members?"""
        return self.op == "coalesced" or (self.op.endswith("_coalesced") and self.op[:-10].isupper())


def ints(values: Iterable[int] = ()) -> array[int]:
    """A column of 64-bit numbers."""
    return array("q", values)


@dataclass(frozen=True, eq=False)
class Ring(Sequence[RecorderEntry]):
    """Entries as columns, oldest first; an entry is put together when somebody asks for it."""

    calls: Sequence[Call] = ()
    ids: array[int] = field(default_factory=ints)
    seqs: array[int] = field(default_factory=ints)
    p2p_seqs: array[int] = field(default_factory=ints)
    op_ids: array[int] = field(default_factory=ints)
    created: array[int] = field(default_factory=ints)
    started: array[int] = field(default_factory=ints)
    completed: array[int] = field(default_factory=ints)
    states: bytes = b""  # indices into STATES
    done: bytes = b""  # 1 where the operation is over

    @classmethod
    def of(cls, entries: Sequence[RecorderEntry]) -> Ring:
        """Entries of a recorder in columns."""
        if isinstance(entries, Ring):
            return entries
        return cls(
            calls=tuple(call_of(entry) for entry in entries),
            ids=ints(entry.id for entry in entries),
            seqs=ints(entry.seq for entry in entries),
            p2p_seqs=ints(entry.p2p_seq for entry in entries),
            op_ids=ints(entry.op_id for entry in entries),
            created=ints(entry.created_ns for entry in entries),
            started=ints(entry.started_ns for entry in entries),
            completed=ints(entry.completed_ns for entry in entries),
            states=bytes(STATES.index(entry.state) if entry.state in STATES else 0 for entry in entries),
            done=bytes(entry.done for entry in entries),
        )

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, at: int) -> RecorderEntry: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[RecorderEntry, ...]: ...
    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return tuple(self._entry(i) for i in range(*at.indices(len(self))))
        return self._entry(range(len(self))[at])

    def __iter__(self) -> Iterator[RecorderEntry]:
        return (self._entry(i) for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(other) != len(self):
            return False
        return self is other or all(mine == theirs for mine, theirs in zip(self, other))

    __hash__ = None  # type: ignore[assignment]

    def _entry(self, at: int) -> RecorderEntry:
        call = self.calls[at]
        return RecorderEntry(
            id=self.ids[at],
            group=call.group,
            desc=call.desc,
            seq=self.seqs[at],
            op=call.op,
            p2p_seq=self.p2p_seqs[at],
            op_id=self.op_ids[at],
            pg_id=call.pg_id,
            backend=call.backend,
            peer=call.peer,
            state=STATES[self.states[at]],
            done=bool(self.done[at]),
            is_p2p=call.is_p2p,
            input_sizes=call.input_sizes,
            output_sizes=call.output_sizes,
            input_dtypes=call.input_dtypes,
            output_dtypes=call.output_dtypes,
            created_ns=self.created[at],
            started_ns=self.started[at],
            completed_ns=self.completed[at],
            timeout_ms=call.timeout_ms,
            thread=call.thread,
            frames=call.frames,
        )


def call_of(entry: RecorderEntry) -> Call:
    """The part of an entry that repeats."""
    return Call(
        entry.group,
        entry.desc,
        entry.op,
        entry.pg_id,
        entry.backend,
        entry.peer,
        entry.is_p2p,
        entry.input_sizes,
        entry.output_sizes,
        entry.input_dtypes,
        entry.output_dtypes,
        entry.timeout_ms,
        entry.thread,
        entry.frames,
    )
