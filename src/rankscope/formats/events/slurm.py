"""Slurm: states of jobs and nodes (``squeue``, ``sacct``, ``scontrol show``), and nodes that failed."""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

from ._table import TableReader, pattern

NAME = "slurm"
NEEDLES = (
    "JobState=", "State=", "slurmstepd", "srun:", "sacct", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_ME", "PREEMPTED", "COMPLETED", "FAILED ", "Node failure",
    "RUNNING", "PENDING", "REQUEUED", "COMPLETING", " CG ", " PD ", " R ", " NF ", " OOM ", " TO ",
)  # fmt: skip
_STATE = (
    r"(?P<state>RUNNING|PENDING|COMPLETED|COMPLETING|FAILED|CANCELLED\+?|TIMEOUT|NODE_FAIL|OUT_OF_ME\w*\+?|PREEMPTED|"
    r"REQUEUED|SUSPENDED)"
)
_SHORT = r"(?P<state>CA|CD|CF|CG|F|NF|OOM|PD|PR|R|RQ|S|ST|TO)"

_TABLE = (
    pattern("slurm.job", rf"\bJobState={_STATE} Reason=(?P<reason>\S+)"),
    pattern("slurm.node", r"\bState=(?P<state>[A-Z][A-Z_+*]{0,60}(?:DOWN|DRAIN|FAIL|NOT_RESPONDING|IDLE|ALLOCATED|MIXED|COMPLETING)[A-Z_+*]*|(?:DOWN|DRAIN\w*|FAIL\w*|IDLE|ALLOCATED|MIXED)[A-Z_+*]*)(?= |$)"),
    pattern("slurm.job_step", rf"^\s*(?P<job>\d+(?:_\d+)?(?:\.(?:\d+|batch|extern))?) .*?\b{_STATE}(?: by (?P<by>\d+))? +(?P<exit_code>\d+):(?P<signal>\d+)\s*$"),
    pattern("slurm.queued", rf"^\s*(?P<job>\d+(?:_\d+)?) +\S+ +\S+ +\S+ +{_SHORT} +(?P<elapsed>[\d:-]+) +(?P<nodes>\d+) +(?P<where>\(?\S.*)$"),
    pattern("slurm.node_failed", r"srun: error: Node failure on (?P<node>\S+)"),
)  # fmt: skip


class Reader(TableReader):
    """The table."""

    def __init__(self) -> None:
        super().__init__(_TABLE)
