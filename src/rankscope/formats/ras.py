"""Answers of NCCL's RAS, as text and as JSON (2.28.7 and later; 2.28.9 leaves out a comma before some ``status``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..model import ras_text
from ..model.evidence.ras import Communicator, RasRank, RasReport
from ..model.gap import Gap, Why
from ..model.patterns import regex
from ..model.ranks import MOST_RANKS
from . import plain
from .margin import margin_of

_TEXT_MARKS = (b"Communicators...", b"ranks have launched up to operation", b"Comms     Nodes", b"Job summary")
_PASSED_ON = 8 << 20  # so much of it is cleaned line by line
# In valid JSON a value and the key on the next line always have a comma between them.
_NO_COMMA = regex(rb"([\"\d\]}el])(\s*\n\s*\"[\w ]+\"\s*:)")


def recognises(head: bytes) -> bool:
    """Does a file begin like a RAS report?"""
    if is_json(head):
        return b"nccl_version" in head or b"ranks_count" in head
    return any(mark in head for mark in _TEXT_MARKS) and b"process group" not in head.lower()


def is_json(data: bytes) -> bool:
    """Whether it is a report in JSON, and not a log in JSON with a report in its lines."""
    return data.lstrip()[:1] == b"{" and b'"communicators"' in data


def read(data: bytes, name: str = "") -> RasReport | Gap:
    """One report."""
    try:
        if is_json(data):
            return _from_json(_parse(data))
        report = ras_text.parse(data[: 64 << 20].decode(errors="replace").splitlines())
        return report if report.communicators else ras_text.parse(_passed_on(data[:_PASSED_ON]))
    except (plain.Refused, TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        return Gap("ras", Why.DAMAGED, f"{name or 'RAS report'}: {error}"[:300])


def _passed_on(data: bytes) -> Iterator[str]:
    """The lines of a report without what launchers and collectors of logs put before them."""
    text = data.decode(errors="replace")
    margin = margin_of(text)
    for number, raw in enumerate(text.split("\n"), 1):
        yield from (line.text for line in margin.lines(number, raw))


def _parse(data: bytes) -> Any:
    try:
        return plain.parse_json(data)
    except plain.Refused:
        return plain.parse_json(_NO_COMMA.sub(rb"\1,\2", data))


def _from_json(raw: Any) -> RasReport:
    if not isinstance(raw, Mapping) or not isinstance(raw.get("communicators"), list):
        raise ValueError("it lists no communicators")
    ras = _mapping(raw.get("ras"))
    return RasReport(
        tuple(_communicator(one) for one in raw["communicators"] if isinstance(one, Mapping)),
        version=str(raw.get("nccl_version", ""))[:64],
        at=str(raw.get("timestamp", ""))[:64],
        timeouts=_number(ras.get("timeouts_count")),
    )


def _communicator(raw: Mapping[str, Any]) -> Communicator:
    here = [_rank(one, answers=True) for one in _maps(raw.get("ranks"))]
    missing = [_rank(one, answers=False) for one in _maps(raw.get("missing_ranks"))]
    ranks = tuple(sorted(here + missing, key=lambda one: one.rank))
    return Communicator(str(raw.get("hash", ""))[:128], _number(raw.get("size")) or len(ranks), ranks)


def _maps(value: Any) -> Iterator[Mapping[str, Any]]:
    return (one for one in value[:MOST_RANKS] if isinstance(one, Mapping)) if isinstance(value, list) else iter(())


def _rank(raw: Mapping[str, Any], answers: bool) -> RasRank:
    status = _mapping(raw.get("status"))
    counts = raw.get("collective_counts")
    return RasRank(
        rank=_number(raw.get("rank")),
        host=str(raw.get("host", ""))[:256],
        pid=_number(raw.get("pid")),
        device=str(raw.get("cuda_dev", ""))[:32],
        counts={str(op)[:64]: _number(count) for op, count in counts.items()} if isinstance(counts, Mapping) else {},
        answers=answers,
        dead=status.get("considered_dead") is True,
    )


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63 else 0


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
