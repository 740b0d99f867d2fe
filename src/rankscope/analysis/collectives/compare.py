"""Did the members of a group issue the same call? What NCCL and gloo need to be equal differs by operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from ...model.ring import Call

# Names that releases and backends give to one operation.
_SAME = {
    "all_gather_into_tensor": "_all_gather_base",
    "_allgather_base": "_all_gather_base",
    "allgather": "all_gather",
    "allreduce": "all_reduce",
    "reduce_scatter_tensor": "_reduce_scatter_base",
    "_reduce_scatter_tensor": "_reduce_scatter_base",
    "alltoall": "all_to_all",
    "alltoall_base": "all_to_all",
    "all_to_all_single": "all_to_all",
    "_broadcast_oop": "broadcast",
    "_reduce_oop": "reduce",
}
_ONE_SIDED_INPUT = frozenset({"scatter"})  # only the root has one
_ONE_SIDED_OUTPUT = frozenset({"gather", "reduce"})
_UNEVEN = frozenset({"all_gather", "reduce_scatter", "gather", "scatter"})  # lists may hold tensors of many sizes


@dataclass(frozen=True)
class Signature:
    """What one rank passed to one call: several parts when it is coalesced."""

    ops: tuple[str, ...]
    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]
    call: Call

    def same(self, other: Signature) -> bool:
        return (self.ops, self.inputs, self.outputs, self.dtypes) == (
            other.ops,
            other.inputs,
            other.outputs,
            other.dtypes,
        )

    @property
    def key(self) -> tuple[object, ...]:
        return (self.ops, self.inputs, self.outputs, self.dtypes)

    def __str__(self) -> str:
        call = self.call
        sizes = _shapes(call.input_sizes or call.output_sizes)
        dtype = (call.input_dtypes or call.output_dtypes or ("",))[0]
        return " ".join(part for part in (call.op, sizes, dtype) if part)


def _shapes(sizes: Sequence[Sequence[int]]) -> str:
    shown = " ".join(str(list(dims)) for dims in sizes[:2])
    return f"{shown} … {len(sizes)} tensors" if len(sizes) > 2 else shown


def signature(calls: Sequence[Call]) -> Signature:
    """What the entries under one sequence number amount to."""
    parts = [call for call in calls if not call.closes_batch] or list(calls)
    return Signature(
        tuple(_SAME.get(call.op.lower(), call.op) for call in parts),
        tuple(dims for call in parts for dims in call.input_sizes),
        tuple(dims for call in parts for dims in call.output_sizes),
        tuple(dtype for call in parts for dtype in (*call.input_dtypes, *call.output_dtypes)),
        parts[0],
    )


def numel(sizes: Iterable[Sequence[int]]) -> int:
    """Elements in all tensors together."""
    return sum(prod(dims) for dims in sizes)


def differ(mine: Signature, other: Signature) -> str | None:
    """How two calls of one sequence number clash, as the kind of mismatch; None when they fit."""
    if mine.ops != other.ops:
        return "collective_mismatch"
    op = mine.ops[0]
    if op == "all_to_all":
        return None if mine.dtypes == other.dtypes else "dtype_mismatch"
    if _sizes_clash(op, mine, other):
        return "size_mismatch"
    if set(mine.dtypes) != set(other.dtypes) and mine.dtypes and other.dtypes:
        return "dtype_mismatch"
    return None


def _sizes_clash(op: str, mine: Signature, other: Signature) -> bool:
    """Elements count, not shapes: [6, 3] and [18] reduce together well."""
    uneven = op in _UNEVEN and (_mixed(mine) or _mixed(other))
    inputs = outputs = False
    if op not in _ONE_SIDED_INPUT and not (uneven and op in ("all_gather", "gather")):
        inputs = _clash(mine.inputs, other.inputs)
    if op not in _ONE_SIDED_OUTPUT and not (uneven and op in ("reduce_scatter", "scatter")):
        outputs = _clash(mine.outputs, other.outputs)
    return inputs or outputs


def _mixed(one: Signature) -> bool:
    return len(set(map(numel, ((dims,) for dims in one.inputs)))) > 1 or len({prod(dims) for dims in one.outputs}) > 1


def _clash(mine: tuple[tuple[int, ...], ...], other: tuple[tuple[int, ...], ...]) -> bool:
    return mine != other and numel(mine) != numel(other)


@dataclass(frozen=True)
class Mismatch:
    """Ranks that disagree with the rest about one call; ``expected`` is what the rest issued."""

    kind: str
    odd: tuple[int, ...]
    expected: Signature
    found: Mapping[Signature, tuple[int, ...]]
    tie: bool = False


def mismatch(
    issued: Mapping[int, Signature], group_size: int, prefer: Counter[object] | None = None
) -> Mismatch | None:
    """Compare what the members issued under one number. ``prefer`` counts how often a call was seen elsewhere;
    ``group_size`` is 0 where it is not known."""
    kinds: dict[object, list[int]] = {}
    example: dict[object, Signature] = {}
    for rank, one in issued.items():
        kinds.setdefault(one.key, []).append(rank)
        example.setdefault(one.key, one)
    if len(kinds) < 2:
        return None
    clusters = _clusters(kinds, example)
    if len(clusters) < 2:
        return _totals(issued, group_size)
    clusters.sort(key=lambda keys: (-_size(keys, kinds), -_seen(keys, prefer), min(kinds[keys[0]])))
    best, rest = clusters[0], clusters[1:]
    expected = example[max(best, key=lambda key: len(kinds[key]))]
    clash = [differ(expected, example[keys[0]]) for keys in rest]
    kind = next((k for k in ("collective_mismatch", "size_mismatch", "dtype_mismatch") if k in clash), "size_mismatch")
    tied = [
        keys for keys in rest if _size(keys, kinds) == _size(best, kinds) and _seen(keys, prefer) == _seen(best, prefer)
    ]
    odd = [rank for keys in (clusters if tied else rest) for key in keys for rank in kinds[key]]
    found = {example[keys[0]]: tuple(sorted(r for key in keys for r in kinds[key])) for keys in rest}
    return Mismatch(kind, tuple(sorted(odd)), expected, found, tie=bool(tied))


def _clusters(kinds: Mapping[object, list[int]], example: Mapping[object, Signature]) -> list[list[object]]:
    """Keys of calls that fit each other."""
    out: list[list[object]] = []
    for key in sorted(kinds, key=lambda key: -len(kinds[key])):
        for cluster in out:
            if differ(example[cluster[0]], example[key]) is None:
                cluster.append(key)
                break
        else:
            out.append([key])
    return out


def _size(keys: Sequence[object], kinds: Mapping[object, list[int]]) -> int:
    return sum(len(kinds[key]) for key in keys)


def _seen(keys: Sequence[object], prefer: Counter[object] | None) -> int:
    return sum(prefer[key] for key in keys) if prefer else 0


def _totals(issued: Mapping[int, Signature], group_size: int) -> Mismatch | None:
    """all_to_all: what is sent in all must be what is received in all."""
    first = next(iter(issued.values()))
    if first.ops != ("all_to_all",) or not group_size or len(issued) < group_size:
        return None
    sent, received = (
        sum(map(numel, side)) for side in zip(*((s.inputs, s.outputs) for s in issued.values()), strict=True)
    )
    if sent == received:
        return None
    return Mismatch("size_mismatch", (), first, {}, tie=True)
