"""Sets of ranks, written the way people write them: ``0-3,7``."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator

# Beyond what any machine has: a larger number, in an environment or a file, is no rank and no count of them.
MOST_RANKS = 1 << 20
# Beyond what any job has had: a text that names more at once says something else, or is damaged.
MOST_IN_A_JOB = 1 << 17


def number_of(text: str) -> int | None:
    """A rank, or how many there are, as a stranger wrote it; None where it can be neither."""
    if not (text.isascii() and text.isdigit() and len(text) < 8):
        return None
    return int(text) if int(text) <= MOST_RANKS else None


def port_of(text: str) -> int | None:
    """A port of TCP as a stranger wrote it; None where it can be none."""
    found = number_of(text)
    return found if found is not None and 0 < found < 1 << 16 else None


class RankSet:
    """An immutable set of ranks, kept as sorted disjoint ranges, so that a million neighbours cost two numbers."""

    __slots__ = ("_spans",)
    _spans: tuple[tuple[int, int], ...]  # half-open, sorted, neither touching nor overlapping

    def __init__(self, ranks: Iterable[int] = ()) -> None:
        if isinstance(ranks, range) and ranks.step == 1:
            spans: tuple[tuple[int, int], ...] = ((ranks.start, ranks.stop),) if ranks else ()
        elif isinstance(ranks, RankSet):
            spans = ranks._spans
        else:
            spans = _join((rank, rank + 1) for rank in sorted(set(ranks)))
        object.__setattr__(self, "_spans", spans)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("RankSet is immutable")

    @classmethod
    def _of(cls, spans: tuple[tuple[int, int], ...]) -> RankSet:
        made = cls.__new__(cls)
        object.__setattr__(made, "_spans", spans)
        return made

    @classmethod
    def parse(cls, text: str) -> RankSet:
        """Read folded text such as ``0-3,7``; raise ValueError when it is not."""
        spans = []
        for part in text.replace(" ", "").split(","):
            if not part:
                continue
            first, dash, last = part.partition("-")
            if not first.isascii() or not first.isdigit() or (dash and not (last.isascii() and last.isdigit())):
                raise ValueError(f"not a set of ranks: {text!r} (expected for example 0-3,7)")
            low, high = number_of(first), number_of(last if dash else first)
            if low is None or high is None:
                raise ValueError(f"not a set of ranks: {text[:80]!r} (a rank is at most {MOST_RANKS})")
            if high < low:
                raise ValueError(f"not a set of ranks: {text!r} ({low}-{high} runs backwards)")
            spans.append((low, high + 1))
        return cls._of(_join(sorted(spans)))

    def __or__(self, other: RankSet) -> RankSet:
        if self._spans == other._spans or not other._spans:
            return self
        return RankSet._of(_join(sorted(self._spans + other._spans)))

    def __and__(self, other: RankSet) -> RankSet:
        mine, theirs, i, j, out = self._spans, other._spans, 0, 0, []
        while i < len(mine) and j < len(theirs):
            low, high = max(mine[i][0], theirs[j][0]), min(mine[i][1], theirs[j][1])
            if low < high:
                out.append((low, high))
            if mine[i][1] < theirs[j][1]:
                i += 1
            else:
                j += 1
        return RankSet._of(tuple(out))

    def __sub__(self, other: RankSet) -> RankSet:
        out, j = [], 0
        theirs = other._spans
        for low, high in self._spans:
            while j < len(theirs) and theirs[j][1] <= low:
                j += 1
            k = j
            while k < len(theirs) and theirs[k][0] < high:
                if theirs[k][0] > low:
                    out.append((low, theirs[k][0]))
                low = max(low, theirs[k][1])
                k += 1
            if low < high:
                out.append((low, high))
        return RankSet._of(tuple(out))

    def __contains__(self, rank: object) -> bool:
        if not isinstance(rank, int):
            return False
        at = bisect.bisect_right(self._spans, (rank, float("inf"))) - 1
        return at >= 0 and rank < self._spans[at][1]

    def __iter__(self) -> Iterator[int]:
        for low, high in self._spans:
            yield from range(low, high)

    def __len__(self) -> int:
        return sum(high - low for low, high in self._spans)

    def __bool__(self) -> bool:
        return bool(self._spans)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RankSet) and self._spans == other._spans

    def __hash__(self) -> int:
        return hash(self._spans)

    def __str__(self) -> str:
        return ",".join(str(low) if high == low + 1 else f"{low}-{high - 1}" for low, high in self._spans)

    def __repr__(self) -> str:
        return f"RankSet.parse({str(self)!r})"


def _join(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Melt sorted spans that touch or overlap into one."""
    out: list[tuple[int, int]] = []
    for low, high in spans:
        if out and low <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], high))
        else:
            out.append((low, high))
    return tuple(out)


def ranks_phrase(ranks: RankSet) -> str:
    """``rank 5`` or ``ranks 0-4,6``, as sentences need it."""
    return f"rank {ranks}" if len(ranks) == 1 else f"ranks {ranks}"
