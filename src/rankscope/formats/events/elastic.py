"""torchrun and other launchers: who failed, how, and whom the launcher saw first."""

# ruff: noqa: E501  (a pattern is one line, so that it can be compared with the format string it was made from)
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...model.evidence.events import Event
from ..lines import Line
from ._table import Fields, TableReader, event, pattern

NAME = "launcher"
NEEDLES = (
    "exitcode", "Root Cause", "  rank ", "closing signal", "srun: error", "slurmstepd", "exited on signal", "exit status", "Signal ",
    "killed by signal", "returncode", "exit code", "error_file", "  host ", "  time ", "Failures:", "=====", "exited with", "No rank",
    "oom", "OOM", "CANCELLED", "EXITCODE",
)  # fmt: skip

_TABLE = (
    pattern("elastic.worker_failed", r"failed \(exitcode: (?P<exitcode>-?\d+)\) local_rank: (?P<local_rank>\d+) \(pid: (?P<pid>\d+)\)"),
    pattern("elastic.signal_sent", r"Sending process (?P<pid>\d+) closing signal (?P<signal>\w+)"),
    pattern("slurm.task_failed", r"srun: error: (?P<host>[\w.,\[\]-]+): tasks? (?P<tasks>[\d,\-]+): (?P<text>.*)"),
    pattern("slurm.oom", r"slurmstepd: error: .*(?:oom[-_]kill|out[- ]of[- ]memory)", flags=re.IGNORECASE),
    pattern("slurm.cancelled", r"slurmstepd: error: \*\*\* (?:STEP|JOB) \S+ ON \S+ CANCELLED AT (?P<when>\S+)(?: DUE TO (?P<reason>[\w ]+))?"),
    pattern("mpi.exited", r"mpirun noticed that process rank (?P<rank>\d+) with PID (?P<pid>\d+) on node (?P<host>\S+) exited on signal (?P<signal>\d+)"),
    pattern("mpi.exited", r"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES"),
    pattern("spawn.process_exited", r"process (?P<local_rank>\d+) terminated with (?:signal (?P<signal>\w+)|exit code (?P<exitcode>-?\d+))"),
    pattern("process.exited", r"(?:exit ?code|exitcode|returncode|exit status|EXITCODE)[:= ]+(?P<exitcode>-9|137|-11|139|-6|134|-7|135|-15|143)\b"),
)  # fmt: skip


class Reader:
    """The table, and the block of failures that torchrun prints at the end."""

    def __init__(self) -> None:
        self._inner = TableReader(_TABLE)
        self._root = False
        self._fields: Fields | None = None
        self._at: Line | None = None
        self._head: Line | None = None

    def feed(self, line: Line) -> Iterator[Event]:
        text = line.text
        if text.startswith("Root Cause (first observed failure)"):
            yield from self._flush()
            self._root, self._head = True, line
        elif text.startswith("Failures:"):
            self._root = False
        elif found := re.match(r"\s+rank\s+: (\d+) \(local_rank: (\d+)\)", text):
            yield from self._flush()
            self._fields = {"rank": int(found.group(1)), "local_rank": int(found.group(2))}
            self._at = self._head if self._root and self._head else line
        elif self._fields is not None and (
            found := re.match(r"\s+exitcode\s+: (-?\d+) \(pid: (\d+)\)\s*(?:\((\w+)\))?", text)
        ):
            self._fields["exitcode"], self._fields["pid"] = int(found.group(1)), int(found.group(2))
            if found.group(3):
                self._fields["signal"] = found.group(3)
            yield from self._flush()
        else:
            yield from self._inner.feed(line)

    def _flush(self) -> Iterator[Event]:
        fields, at, root = self._fields, self._at, self._root
        self._fields = None
        if fields is not None and at is not None:
            yield event("elastic.root_cause" if root else "elastic.failure", at, fields)

    @property
    def busy(self) -> bool:
        return self._fields is not None

    def close(self) -> Iterable[Event]:
        return tuple(self._flush())
