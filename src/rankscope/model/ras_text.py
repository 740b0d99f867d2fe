"""The text form of NCCL's RAS reports (NCCL user guide, RAS; src/ras/client_support.cc): a table, then its outliers."""

from __future__ import annotations

from collections.abc import Iterable

from .evidence.ras import Communicator, RasRank, RasReport
from .patterns import regex

_COMMUNICATOR = regex(r"^\s*#\d+-\d+ \((?P<id>[0-9a-fx:]+)\)\s*(?P<errors>(?:[A-Z,][A-Z, ]*)?)$")
_KIND = regex(r"Communicator ranks have different (?P<op>\w+) operation counts")
_MANY = regex(r"^\s*\d+ ranks have (?:launched up to operation (?P<count>\d+)|not launched any operations)")
_ONE = regex(
    r"^\s*Rank (?P<rank>\d+)(?: has (?:launched up to operation (?P<count>\d+)|not launched any operations))?"
    r" -- GPU (?P<gpu>\S+) managed by process (?P<pid>\d+) on node (?P<host>\S+)"
)
_PROCESS = regex(r"^\s*Process (?P<pid>\d+) on node (?P<host>\S+) managing GPUs? (?P<gpu>\S+)")
_TABLE = regex(r"^\s*\d+\s+\d+\s+\d+\s+\d+\s+(?P<size>\d+)\s+\d+\s+[A-Z]+(?:,[A-Z]+)*\s+[A-Z]+")


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


def parse(lines: Iterable[str]) -> RasReport:
    """A text report as it goes by, line by line."""
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
