"""Answers of NCCL's RAS, as text and as JSON (2.28.7 and later; 2.28.9 leaves out a comma before some ``status``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..model.evidence.ras import Communicator, RasRank, RasReport
from ..model.gap import Gap, Why
from . import plain

MOST_RANKS = 1 << 20
_TEXT_MARKS = (b"Communicators...", b"ranks have launched up to operation", b"Comms     Nodes", b"Job summary")
# In valid JSON a value and the key on the next line always have a comma between them.
_NO_COMMA = re.compile(rb"([\"\d\]}el])(\s*\n\s*\"[\w ]+\"\s*:)")

_COMMUNICATOR = re.compile(r"^\s*#\d+-\d+ \((?P<id>[0-9a-fx:]+)\)\s*(?P<errors>[A-Z, ]*)$")
_KIND = re.compile(r"Communicator ranks have different (?P<op>\w+) operation counts")
_MANY = re.compile(r"^\s*\d+ ranks have (?:launched up to operation (?P<count>\d+)|not launched any operations)")
_ONE = re.compile(
    r"^\s*Rank (?P<rank>\d+)(?: has (?:launched up to operation (?P<count>\d+)|not launched any operations))?"
    r" -- GPU (?P<gpu>\S+) managed by process (?P<pid>\d+) on node (?P<host>\S+)"
)
_PROCESS = re.compile(r"^\s*Process (?P<pid>\d+) on node (?P<host>\S+) managing GPUs? (?P<gpu>\S+)")
_TABLE = re.compile(r"^\s*\d+\s+\d+\s+\d+\s+\d+\s+(?P<size>\d+)\s+\d+\s+[A-Z]+(?:,[A-Z]+)*\s+[A-Z]+")


def recognises(head: bytes) -> bool:
    """Does a file begin like a RAS report?"""
    if head.lstrip()[:1] == b"{":
        return b'"communicators"' in head and (b"nccl_version" in head or b"ranks_count" in head)
    return any(mark in head for mark in _TEXT_MARKS) and b"process group" not in head.lower()


def read(data: bytes, name: str = "") -> RasReport | Gap:
    """One report."""
    try:
        if data.lstrip()[:1] == b"{":
            return _from_json(_parse(data))
        return _from_text(data[: 64 << 20].decode(errors="replace").splitlines())
    except (plain.Refused, TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        return Gap("ras", Why.DAMAGED, f"{name or 'RAS report'}: {error}"[:300])


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


class _Block:
    """One communicator of a text report while its lines go by."""

    def __init__(self, identity: str, errors: str) -> None:
        self.id, self.errors = identity, errors
        self.op = "operations"
        self.count: int | None = None
        self.usual: dict[str, int] = {}
        self.counts: dict[int, dict[str, int]] = {}
        self.where: dict[int, tuple[str, int, str]] = {}
        self.silent: list[RasRank] = []

    def line(self, line: str) -> None:
        if kind := _KIND.search(line):
            self.op, self.count = kind["op"], None
            if self.op == "collective":
                self.op = "operations"
        elif many := _MANY.match(line):
            # The most frequent count comes first and is what the ranks that are not listed have.
            self.count = int(many["count"] or 0)
            self.usual.setdefault(self.op, self.count)
        elif one := _ONE.match(line):
            rank = int(one["rank"])
            own = one["count"]
            count = int(own) if own else (self.count if " has not launched" not in line else 0)
            self.counts.setdefault(rank, {})[self.op] = count or 0
            self.where[rank] = (one["host"], int(one["pid"]), one["gpu"])
        elif process := _PROCESS.match(line):
            self.silent.append(RasRank(-1, process["host"], int(process["pid"]), process["gpu"], answers=False,
                                       dead="DEAD" in self.errors))  # fmt: skip

    def done(self, size: int) -> Communicator:
        ranks = [RasRank(rank, host, pid, gpu, self.counts.get(rank, {}))
                 for rank, (host, pid, gpu) in sorted(self.where.items())]  # fmt: skip
        return Communicator(self.id, size, (*ranks, *self.silent), self.usual, self.errors)


def _from_text(lines: Iterable[str]) -> RasReport:
    blocks: list[_Block] = []
    size = 0
    version = ""
    for line in lines:
        if table := _TABLE.match(line):
            size = max(size, int(table["size"]))
        elif line.startswith("NCCL version"):
            version = line.split()[2] if len(line.split()) > 2 else ""
        elif start := _COMMUNICATOR.match(line):
            blocks.append(_Block(start["id"], start["errors"].strip()))
        elif line.strip() in ("DEAD", "TIMEOUT", "INCOMPLETE"):
            blocks.append(_Block("", line.strip()))
        elif blocks:
            blocks[-1].line(line)
    return RasReport(tuple(block.done(size) for block in blocks), version=version[:64])


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
