"""What comes back from the nodes: one inbox for each host, fed line by line, and the reason where nothing comes.

An answer that breaks off keeps what had arrived. Whatever a login script prints in between is kept only as a hint for
the user.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
import math
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..errors import RankscopeError
from ..formats.snapshot import Reader
from ..model.gap import Gap, Why
from ..model.snapshot import Host, Job, Snapshot
from ..probe.post import MARK, PROTOCOL

# A node's unpacked answer: far above a node's share (tens of megabytes with large recorders), far below our memory.
UNPACKED_LIMIT = 512 << 20
_NOISE_LIMIT = 4096
_HEAD = MARK.encode() + b" "


@dataclass(frozen=True)
class Part:
    """What one host told of one job; ``ended`` is False when its answer broke off."""

    host: Host
    job: Job
    snapshot: Snapshot
    ended: bool = True


class Inbox:
    """One host's answer as it comes in."""

    def __init__(self, name: str, now: Callable[[], float] = time.time) -> None:
        self.name, self._now = name, now
        self.about: dict[str, Any] | None = None
        self.ended = False
        self.refused = ""
        self.noise = b""
        self.raw: Callable[[bytes], object] = _let_go
        self.offset_s: float | None = None
        self._reader = Reader()
        self._jobs: list[tuple[Job, int]] = []  # each job, and how many processes were known before it
        self._unpack = zlib.decompressobj()
        self._rest, self._size = b"", 0
        self._broken = self._torn = ""
        self.unkept = ""  # why what it says is kept no more

    def feed(self, line: bytes) -> None:
        """Take one line of the node's standard output; whatever is in it concerns this node alone."""
        try:
            self.raw(line)
        except OSError as error:
            self.raw, self.unkept = _let_go, error.strerror or str(error)
        try:
            self._take(line)
        except Exception as error:
            said = error.what if isinstance(error, RankscopeError) else f"{type(error).__name__}: {error}"
            self._broken = self._broken or f"its answer cannot be read: {said[:200]}"

    def _take(self, line: bytes) -> None:
        if line.startswith(b":") and self.about is not None:
            self._data(line[1:])
        elif line.startswith(_HEAD):
            self._word(line[len(_HEAD) :])
        else:
            self.noise = (self.noise + line + b"\n")[-_NOISE_LIMIT:]

    def _word(self, line: bytes) -> None:
        number, _, rest = line.decode("utf-8", "replace").strip().partition(" ")
        word, _, detail = rest.partition(" ")
        if number != str(PROTOCOL):
            self.refused = f"its agent speaks version {number[:10]!r}, this rankscope version {PROTOCOL}"
        elif word == "begin" and self.about is None:
            self._begin(detail)
        elif word in ("refuse", "failed"):
            self.refused = detail[:300]
        elif word == "end":
            self.ended, self._broken = True, self._broken or self._torn

    def _begin(self, detail: str) -> None:
        try:
            about = json.loads(detail)
            # What passed between the agent's writing and our reading counts as skew; it is some milliseconds.
            offset_s = float(about["now"]) - self._now()
            if not math.isfinite(offset_s):
                raise ValueError(offset_s)
            self.offset_s, self.about = round(offset_s, 3), about
        except (ValueError, TypeError, KeyError, OverflowError):
            self.refused = "its first line is damaged"

    def _data(self, packed: bytes) -> None:
        self._broken = self._broken or self._torn
        if self._broken:
            return
        try:
            data = base64.b64decode(packed.strip(), validate=True)
            text = self._unpack.decompress(data, UNPACKED_LIMIT - self._size + 1)
        except (binascii.Error, ValueError, zlib.error) as error:
            # The last line of an answer that broke off is torn as well; only what comes behind it shows damage.
            self._torn = f"its answer was damaged on the way: {error}"
            return
        self._size += len(text)
        if self._size > UNPACKED_LIMIT:
            self._broken = f"its answer unpacks to more than {UNPACKED_LIMIT >> 20} MiB"
            return
        *lines, self._rest = (self._rest + text).split(b"\n")
        for one in lines:
            self._line(one)

    def _line(self, line: bytes) -> None:
        self._reader.feed(line)
        if line.startswith(b'{"is":"snapshot"') and self._reader.header is not None:
            seen = self._reader.snapshot()
            self._jobs.append((seen.job, len(seen.processes)))

    def parts(self) -> tuple[Part, ...]:
        """Each job of this host with what was seen of it; a host without a job gives one part without processes."""
        if self._reader.header is None:
            return ()
        whole = self._reader.snapshot()
        host = whole.hosts[0] if whole.hosts else Host(self.name)
        host = dataclasses.replace(host, clock_offset_s=self.offset_s)
        ends = [first for _, first in self._jobs[1:]] + [len(whole.processes)]
        return tuple(
            Part(host, job, share(whole, job, first, end), self.ended)
            for (job, first), end in zip(self._jobs, ends)
        )  # fmt: skip

    @property
    def answered(self) -> bool:
        """Whether anything worth reading has come."""
        return self.about is not None and self._reader.header is not None

    def trouble(self) -> str:
        """Why the answer is less than whole, as far as the answer itself tells."""
        return self._broken or self.refused


def _let_go(_: bytes) -> None:
    """What nobody wants to keep."""


def share(whole: Snapshot, job: Job, first: int, end: int) -> Snapshot:
    """The part of a snapshot that is about some of its processes, such as those of one job."""
    processes = whole.processes[first:end]
    mine = frozenset(process.ref for process in processes)
    sweeps = tuple(
        dataclasses.replace(
            sweep,
            present=tuple(ref for ref in sweep.present if ref in mine),
            items=tuple(item for item in sweep.items if item.process is None or item.process in mine),
        )
        for sweep in whole.sweeps
    )
    gaps = tuple(gap for gap in whole.gaps if gap.process is None or gap.process in mine)
    return dataclasses.replace(whole, job=job, processes=processes, sweeps=sweeps, gaps=gaps)


@dataclass
class Answers:
    """All inboxes of one errand, and what the transport says of those that stay empty."""

    hosts: tuple[str, ...]
    inboxes: dict[str, Inbox] = field(default_factory=dict)
    gaps: dict[str, Gap] = field(default_factory=dict)
    complete: bool = True

    def __post_init__(self) -> None:
        self.inboxes.update({name: Inbox(name) for name in self.hosts if name not in self.inboxes})

    def feed(self, host: str, line: bytes) -> None:
        if host in self.inboxes:
            self.inboxes[host].feed(line)

    def missing(self, host: str, why: Why, detail: str, hint: str = "") -> None:
        """The transport could not bring an answer of this host; the first reason stays."""
        self.gaps.setdefault(host, Gap("host", why, detail, hint, host=host))

    def waiting(self) -> tuple[str, ...]:
        """Hosts of which neither an end nor a reason has come."""
        return tuple(name for name in self.hosts if not self.inboxes[name].ended and name not in self.gaps)

    def begun(self) -> bool:
        """Whether everybody who is waited for has begun to answer: they are at work, and the wire is quiet for a while."""
        return all(self.inboxes[name].answered for name in self.waiting())

    def words(self) -> Iterator[Gap]:
        """What is to be said of answers that came: those of which a part cannot be read, or is kept no more."""
        for name, inbox in self.inboxes.items():
            if inbox.ended and inbox.answered and inbox.trouble():
                yield Gap("answer", Why.DAMAGED, f"{name}: {inbox.trouble()}")
            if inbox.unkept:
                yield Gap("--raw-dir", Why.FAILED, f"not all that {name} said was kept: {inbox.unkept}")

    def close(self, waited_s: float) -> None:
        """Nothing more will come: give every host without a whole answer its reason."""
        for name, inbox in self.inboxes.items():
            if inbox.trouble() and (not inbox.ended or not inbox.answered):
                self.gaps[name] = _refused(name, inbox.trouble())
            elif name not in self.gaps and not inbox.ended:
                self.missing(name, Why.TIMEOUT, _silence(inbox, waited_s), "a longer --deadline, or look at that node")


def _silence(inbox: Inbox, waited_s: float) -> str:
    """What is known of a node that has not ended its answer: nothing, a beginning, or only what its login printed."""
    before = "its answer broke off" if inbox.answered else "no answer"
    said = inbox.noise.decode("utf-8", "replace").strip().splitlines()[-1:]
    return f"{before} within {waited_s:.0f} s" + (f"; it said {said[0][:120]!r}" if said else "")


def _refused(name: str, detail: str) -> Gap:
    if "Python" in detail:
        return Gap("host", Why.MISSING, detail, "--remote-python PATH, or --env-setup 'conda activate NAME'", host=name)
    return Gap("host", Why.FAILED, detail, host=name)
