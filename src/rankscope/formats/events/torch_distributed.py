"""torch.distributed: the NCCL watchdog and heartbeat monitor, desync report, DETAIL mode, monitored barrier.

Wordings follow the format strings of ProcessGroupNCCL.cpp, TraceUtils.h and ProcessGroupWrapper.cpp, torch 1.11 to 2.15.
"""

# ruff: noqa: E501  (a pattern is one line, so that it can be compared with the format string it was made from)
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...model.evidence.events import Event
from ...model.patterns import regex
from ..lines import Line
from ._table import Fields, TableReader, ints, pattern

NAME = "torch.distributed"
NEEDLES = (
    "Watchdog caught", "watchdog", "eartbeat", "acquire GIL", "dump signal", "dump debug info", "collective #",
    "NCCL error", "CollectiveFingerPrint", "onitoredBarrier", "perform barrier", "milliseconds", "WorkNCCL",
    "DistBackendError", "ProcessGroup", "OpType=",
)  # fmt: skip

_PG = r"(?:\[PG (?:ID (?P<pg_id>\d+) PG GUID )?(?P<pg>[\w:.-]{1,200}?) ?\((?P<pg_desc>[^)\]]{0,300})\) Rank (?P<rank>\d+)\]\s+)?"
_UNKNOWN_NUMEL = 18446744073709551615  # the count of coalesced work


def _timeout(found: re.Match[str], fields: Fields) -> Fields:
    body = str(fields.pop("body", ""))
    for name, key in (
        ("seq", "SeqNum"), ("op", "OpType"), ("numel_in", "NumelIn"), ("numel_out", "NumelOut"), ("timeout_ms", r"Timeout\(ms\)"),
    ):  # fmt: skip
        if value := re.search(key + r"=(\w+)", body):
            number = value.group(1)
            if number != str(_UNKNOWN_NUMEL):
                fields[name] = int(number) if number.isdigit() else number
    return fields


_FINGERPRINT = regex(
    r"[Rr]ank (?P<rank>\d+) is running (?:inconsistent )?collective: CollectiveFingerPrint\("
    r"(?:SequenceNumber=(?P<seq>\d+), ?)?OpType=(?P<op>\w+)(?:, ?TensorShape=\[(?P<shape>[\d, ]*)\])?(?:, ?TensorDtypes=(?P<dtype>\w+))?"
)


def _mismatch(found: re.Match[str], fields: Fields) -> Fields:
    prints = list(_FINGERPRINT.finditer(found.string))
    if not prints:
        return fields
    fields = _print(prints[0])
    if len(prints) > 1:
        fields.update({f"other_{name}": value for name, value in _print(prints[1]).items()})
        fields["other"] = fields.pop("other_rank")
    if differ := re.search(r"differ in the following aspects:\s*(.*)$", found.string):
        fields["differ"] = " ".join(differ.group(1).split())
    return fields


def _print(found: re.Match[str]) -> Fields:
    told = found.groupdict()
    fields: Fields = {"rank": int(told["rank"]), "op": told["op"]}
    if told["seq"]:
        fields["seq"] = int(told["seq"])
    if told["shape"] is not None:
        fields["shape"] = ints(told["shape"])
    if told["dtype"]:
        fields["dtype"] = told["dtype"]
    return fields


def _lists(found: re.Match[str], fields: Fields) -> Fields:
    for name in ("ranks", "missing"):
        if isinstance(fields.get(name), (str, int)) and (name == "ranks" or not re.search(r"#", found.group())):
            fields[name] = ints(str(fields[name]))
    return fields


_TABLE = (
    pattern(
        "torch.watchdog_timeout",
        r"(?:\[Rank (?P<rank>\d+)\]:?\s*)?(?:Watchdog c|C)aught collective operation timeout: Work\w+\((?P<body>.*)\)\s*ran for (?P<ran_ms>\d+) milliseconds",
        _timeout,
    ),
    # The same as people quote it, which ends behind the call.
    pattern(
        "torch.watchdog_timeout",
        r"(?:\[Rank (?P<rank>\d+)\]:?\s*)?(?:Watchdog c|C)aught collective operation timeout: Work\w+\((?P<body>SeqNum=.{1,400}?Timeout\(ms\)=\d{1,12})\)\W{0,8}$",
        _timeout,
    ),
    pattern(
        "torch.watchdog_timeout",
        r"(?:\[Rank (?P<rank>\d+)\]:?\s*)?(?:Work )?Work\w+\((?P<body>SeqNum=.*)\)\s*timed out in blocking wait",
        _timeout,
    ),
    pattern(
        "torch.watchdog_status",
        _PG + r"(?:Exception \(either an error or timeout\) detected by watchdog at work|Timeout at NCCL work|failure detected by watchdog at work sequence id):? (?P<work>-?\d+),?"
        r"(?: PG status:)? last enqueued (?:NCCL )?work: (?P<last_enqueued>-?\d+), last completed (?:NCCL )?work: (?P<last_completed>-?\d+)",
    ),
    pattern("torch.heartbeat_stuck", _PG + r"ProcessGroup\w{0,40}'s watchdog got stuck for (?P<seconds>\d+) ?seconds"),
    pattern("torch.heartbeat_timeout", _PG + r"[Hh]eartbeat monitor timed out"),
    pattern("torch.gil_not_acquired", _PG + r"Could not acquire GIL within (?P<ms>\d+) ?ms"),
    pattern("torch.dump_signal", _PG + r"Observed flight recorder dump signal from another rank"),
    pattern(
        "torch.dump_signal_received",
        _PG + r"Received a dump signal due to a collective timeout from\s+(?:this local rank|rank (?P<from_rank>\d+)|.{0,40}?)"
        r"(?: and we.*?Last enqueued NCCL work: (?P<last_enqueued>-?\d+), last completed NCCL work: (?P<last_completed>-?\d+)|\b)",
    ),
    pattern("torch.fr_dump_start", _PG + r"ProcessGroup\w{0,40} preparing to dump debug info"),
    pattern(
        "torch.desync",
        r"\[(?P<ranks>[\d, ]+)\] (?:finished|joined) (?:but didn't finish )?collective #(?P<finished>\d+), but didn't join collective #(?P<missing>\d+)",
        _lists,
    ),
    pattern("torch.desync_unfinished", r"\[(?P<ranks>[\d, ]+)\] joined but didn't finish collective #(?P<seq>\d+)", _lists),
    pattern(
        "torch.dist_backend_error",
        r"(?:DistBackendError: |RuntimeError: |what\(\):\s+)(?:\[.*?\] )?NCCL error in: ?\S+?:\d+, (?P<text>[^,]+(?:, [^,N][^,]*)*?), NCCL version (?P<nccl_version>[\d.]+)",
    ),
    pattern("torch.detail_mismatch", r"is running (?:inconsistent )?collective: CollectiveFingerPrint\(", _mismatch),
    pattern(
        "torch.monitored_barrier_failed",
        r"(?:\[Rank \d+\]: )?Rank (?P<rank>\d+) successfully reached monitoredBarrier, but received errors while waiting (?:for send/recv from|to be unblocked by) rank (?P<missing>\d+)",
        _lists,
    ),
    pattern(
        "torch.monitored_barrier_failed",
        r"(?:\[Rank (?P<rank>\d+)\]: )?Ranks? (?P<missing>[\d, ]+) failed to pass monitoredBarrier in (?P<timeout_ms>\d+) ms", _lists,
    ),
    pattern("torch.barrier_device_unknown", r"using (?:GPU|device) (?P<gpu>\d+) (?:to perform barrier )?as (?:the )?device(?:s)? used by this process (?:is|are) currently unknown"),
)  # fmt: skip


# What a group says of one of its members (ProcessGroupNCCL::logPrefix), and the prefix that c10's logger puts before it.
_BY_GROUP = {
    "torch.watchdog_timeout", "torch.watchdog_status", "torch.heartbeat_stuck", "torch.heartbeat_timeout", "torch.gil_not_acquired",
    "torch.dump_signal", "torch.dump_signal_received", "torch.fr_dump_start",
}  # fmt: skip
# A call that is told to its end: what may follow in the next line is how long it ran.
_WHOLE = regex(r"Timeout\(ms\)=\d{1,12}\)\W{0,8}$")
_GOES_ON = regex(r"\W{0,8}(?:ran\b|for\b|$)")
_OF_C10 = regex(r"\[rank\d+\]:")


class Reader:
    """The table, over lines that may wrap inside a watchdog's message."""

    def __init__(self) -> None:
        self._inner = TableReader(_TABLE)
        self._held: dict[str, tuple[Line, int]] = {}

    def feed(self, line: Line) -> Iterator[Event]:
        held = self._held.pop(line.source, None)
        if held is not None:
            if not (_WHOLE.search(held[0].text) and not _GOES_ON.match(line.text)):
                joined = replace(held[0], text=held[0].text + " " + line.text.strip())
                if not self._hold(joined, held[1] + 1):
                    yield from self._told(joined)
                return
            yield from self._told(held[0])
        if not self._hold(line, 0):
            yield from self._told(line)

    def _told(self, line: Line) -> Iterator[Event]:
        """Events with world ranks: in a message stands the rank in its group, and c10's own prefix has that in the world."""
        for event in self._inner.feed(line):
            grouped = line.rank is not None and event.event in _BY_GROUP and _OF_C10.search(line.source)
            yield replace(event, rank=line.rank) if grouped else event

    def _hold(self, line: Line, joined: int) -> bool:
        wraps = "Watchdog caught collective operation timeout" in line.text and "milliseconds" not in line.text
        if wraps and joined < 4 and len(self._held) < 4096:
            self._held[line.source] = (line, joined)
            return True
        return False

    @property
    def busy(self) -> bool:
        return bool(self._held)

    def close(self) -> Iterable[Event]:
        held, self._held = self._held, {}
        return [event for line, _ in held.values() if _WHOLE.search(line.text) for event in self._told(line)]
