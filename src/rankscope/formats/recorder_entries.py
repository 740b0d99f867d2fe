"""Entries of a flight recorder's dump, in columns: a fast path for what current torch writes; the rest is put in order first.

JSON writes unknown times as 0, a pickle as None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..model.evidence.recorder import label_parts
from ..model.evidence.stacks import Frame
from ..model.ring import STATES, Call, Ring, ints
from . import plain, recorder_eras

_STATE = {state: number for number, state in enumerate(STATES)}


class Pool:
    """Calls and frames that many entries share; give one pool to all files of a job."""

    def __init__(self) -> None:
        self.calls: dict[Any, Call] = {}
        self.frames: dict[Any, Any] = {}
        self.members: dict[str, tuple[int, ...]] = {}


def ring_of(entries: Sequence[Any], pool: Pool) -> Ring:
    """Entries in columns; raise Refused where they are none of a recorder."""
    try:
        ring = _sane(_columns(entries, pool))
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
        ring = _columns([recorder_eras.normal(entry) for entry in entries], pool)
    return _with_batches(ring)


def _columns(entries: Sequence[Mapping[str, Any]], pool: Pool) -> Ring:
    state = _STATE
    return Ring(
        calls=_calls(entries, pool),
        ids=ints([e["record_id"] for e in entries]),
        seqs=ints([e["collective_seq_id"] for e in entries]),
        p2p_seqs=ints([e["p2p_seq_id"] for e in entries]),
        op_ids=ints([e["op_id"] for e in entries]),
        created=ints([e["time_created_ns"] for e in entries]),
        started=ints([e["time_discovered_started_ns"] or 0 for e in entries]),
        completed=ints([e["time_discovered_completed_ns"] or 0 for e in entries]),
        states=bytes([state[e["state"]] for e in entries]),
        done=bytes([e["retired"] or e["state"] == "completed" for e in entries]),
    )


def _sane(ring: Ring) -> Ring:
    """The ring, if its numbers may have been counted."""
    for column in (ring.ids, ring.seqs) if len(ring) else ():
        if min(column) < 0 or max(column) >= recorder_eras.MOST_COUNTED:
            raise ValueError("numbers that nobody counted")
    return ring


def _calls(entries: Sequence[Mapping[str, Any]], pool: Pool) -> list[Call]:
    """One shared Call per entry."""
    out, known, sites = [], pool.calls, _Sites(pool)
    for e in entries:
        group, desc = e["process_group"]
        frames = e.get("frames")
        key = (
            e["profiling_name"],
            group,
            desc,
            e["pg_id"],
            _sizes(e["input_sizes"]),
            _sizes(e["output_sizes"]),
            _names(e["input_dtypes"]),
            _names(e["output_dtypes"]),
            e["timeout_ms"],
            e["is_p2p"],
            e.get("thread_name"),
            sites.of(frames) if frames else (),
        )
        call = known.get(key)
        if call is None:
            call = known[key] = _call(key)
        out.append(call)
    return out


def _call(key: tuple[Any, ...]) -> Call:
    label, group, desc, pg_id, inputs, outputs, input_dtypes, output_dtypes, timeout, is_p2p, thread, frames = key
    if not (isinstance(label, str) and isinstance(group, str) and isinstance(desc, str)):
        raise TypeError("names are not text")
    if not 0 < len(label) <= recorder_eras.LONGEST_NAME:
        raise ValueError("no name of an operation")
    if not all(recorder_eras.counted(number) for sizes in (*inputs, *outputs) for number in sizes):
        raise TypeError("sizes are not numbers")
    if not all(type(name) is str for name in (*input_dtypes, *output_dtypes)):
        raise TypeError("types are not text")
    backend, op, peer = label_parts(label[:512])
    return Call(
        group=group[:512],
        desc=desc[:512],
        op=op,
        pg_id=int(pg_id),
        backend=backend,
        peer=peer,
        is_p2p=bool(is_p2p) or peer is not None,
        input_sizes=inputs,
        output_sizes=outputs,
        input_dtypes=input_dtypes,
        output_dtypes=output_dtypes,
        timeout_ms=int(timeout or 0),
        thread=recorder_eras.text(thread or "")[:64],
        frames=frames,
    )


def _sizes(value: Any) -> tuple[tuple[int, ...], ...]:
    if len(value) == 1 and len(value[0]) <= 16:
        return (tuple(value[0]),)
    # A pickle can refer to one long list a million times; no tensor has that many dimensions.
    if len(value) > 1 << 18 or any(len(dims) > 64 for dims in value):
        raise plain.Refused("it has tensors of more than 64 dimensions")
    return tuple(map(tuple, value))


def _names(value: Any) -> tuple[str, ...]:
    return (value,) if type(value) is str else tuple(value)


class _Sites:
    """Call sites of one file: torch writes a frame once and refers to it afterwards."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool.frames
        self._lists: dict[int, tuple[Frame, ...]] = {}
        self._sites: dict[tuple[int, ...], tuple[Frame, ...]] = {}
        self._frames: dict[int, Frame] = {}

    def of(self, frames: Sequence[Any]) -> tuple[Frame, ...]:
        known = self._lists.get(id(frames))
        if known is None:
            key = tuple(map(id, frames))
            known = self._sites.get(key)
            if known is None:
                made = tuple([self._frame(frame) for frame in frames])
                known = self._sites[key] = self._pool.setdefault(made, made)
            self._lists[id(frames)] = known
        return known

    def _frame(self, raw: Any) -> Frame:
        known = self._frames.get(id(raw))
        if known is None:
            key = (raw["name"], raw["filename"], raw["line"])
            known = self._pool.get(key)
            if known is None:
                known = Frame(recorder_eras.text(key[0])[:1024], recorder_eras.text(key[1])[:4096], int(key[2] or 0))
                self._pool[key] = known
            self._frames[id(raw)] = known
        return known


def _with_batches(ring: Ring) -> Ring:
    """Operations inside a coalesced group never get a state of their own: they are over when the group's entry is.

    Torch records the members of a batch first and then one entry named ``coalesced`` with the same numbers, which
    alone carries the events (ProcessGroupNCCL::endCoalescing).
    """
    if not any(call.closes_batch for call in set(ring.calls)):
        return ring
    done = bytearray(ring.done)
    over: set[tuple[str, int, int]] = set()
    for at in range(len(ring) - 1, -1, -1):
        key = (ring.calls[at].group, ring.seqs[at], ring.p2p_seqs[at])
        if ring.calls[at].closes_batch:
            if done[at]:
                over.add(key)
        elif key in over:
            done[at] = 1
    return Ring(
        ring.calls,
        ring.ids,
        ring.seqs,
        ring.p2p_seqs,
        ring.op_ids,
        ring.created,
        ring.started,
        ring.completed,
        ring.states,
        bytes(done),
    )
