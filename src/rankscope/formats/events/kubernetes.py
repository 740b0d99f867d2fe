"""Kubernetes: the states and events of pods and nodes, as ``kubectl describe``, ``get pods`` and ``get events`` print them."""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

from ._table import TableReader, pattern

NAME = "kubernetes"
NEEDLES = (
    "OOMKilled", "Evicted", "CrashLoopBackOff", "ImagePull", "FailedScheduling", "NodeNotReady", "Reason:", "Exit Code:", "Preempt", "Unhealthy",
    "FailedMount", " Pending ", " Running ", "ContainerCreating", "Terminating", "NotReady", "BackOff", "Init:",
)  # fmt: skip

_TABLE = (
    pattern("k8s.pod", r"^(?P<pod>[a-z0-9][a-z0-9.-]*) +(?P<ready>\d+/\d+) +(?P<state>[A-Z][\w:/]*) +(?P<restarts>\d+)(?: \([^)]*\))? +(?P<age>[\dsmhd]+)\s*"),
    pattern("k8s.oom_killed", r"^\s*Reason:\s+OOMKilled|\bOOMKilled\b"),
    pattern("k8s.ended", r"^\s*Reason:\s+(?P<reason>Error|Completed|ContainerCannotRun|DeadlineExceeded|ContainerStatusUnknown|Evicted)"),
    pattern("k8s.exit_code", r"^\s*Exit Code:\s+(?P<exit_code>\d+)"),
    pattern("k8s.event", r"^\s*(?:\S+ +)?(?:Warning|Normal) +(?P<reason>FailedScheduling|Evicted|Preempt\w*|NodeNotReady|BackOff|Unhealthy|FailedMount|FailedAttachVolume|OOMKilling|FailedCreatePodSandBox|TaintManagerEviction|Killing|SystemOOM|Rebooted)\b +(?P<what>.*)$"),
    pattern("k8s.event", r"^\s*(?P<age>\d+[smhd]\S*) +(?:\(x\d+ over \S+\) +)?(?:Warning|Normal) +(?P<reason>\w+) +(?P<what>.*)$"),
)  # fmt: skip


class Reader(TableReader):
    """The table."""

    def __init__(self) -> None:
        super().__init__(_TABLE)
