"""A process waits inside the kernel for memory that its control group may not have.

## What it means
The group has used up its memory and nobody in it is killed: the killer is switched off (`memory.oom_control` of version 1,
`--oom-kill-disable` of container runtimes), so that who needs one more page sleeps until somebody makes room. Or, in version 2,
the group is over `memory.high`, and each of its threads is held back for seconds at every step.

## How it is recognised
State D or S with a wait channel or kernel stack of the memory controller (`mem_cgroup_oom_synchronize`,
`mem_cgroup_handle_over_high`), or state D in a group of which the kernel says that it waits. What the group uses, and its
limit, come from the group's own files.

## What to do
Raise the limit (`--mem`, `--memory`, `resources.limits.memory`, `memory.high`), or end another process of the group: who waits
goes on by itself. Then use fewer loader workers, smaller prefetch, no copy of the data set per process.

## How to prevent it
Let the kernel kill, so that the job fails loudly; watch the use of the group against its limit.
The kernel's documentation: https://docs.kernel.org/admin-guide/cgroup-v1/memory.html (memory.oom_control)
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...analysis.kernel_says import awaits_memory
from ...analysis.standing import Standing
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.cgroup import ControlGroup
from .. import make_rule
from .._say import at, ranks_of, waited_for, who

_NO_PAGE = "mem_cgroup_oom_synchronize"


def check(case: Case) -> Iterator[Finding]:
    for standing in case.standings.values():
        place = _place(standing)
        if standing.member.gone or not place or not case.stuck(standing.still_s):
            continue
        root = case.graph.root(standing.member.ref)
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE,
            certainty=Certainty.CERTAIN if place == _NO_PAGE else Certainty.LIKELY,
            title=f"{who(standing.member.process)} waits for memory of its control group in {at(standing.user_frame)}",
            ranks=ranks_of(standing), processes=(standing.member.process,),
            because=(Reason(f"the kernel holds its thread in {place}", "kernel", standing.member.ref), *_group(standing),
                     *(waited_for(root) if root else ())),
            next=(Step(f"cat /proc/{standing.member.ref.pid}/cgroup", standing.member.ref,
                       "then usage and limit of its memory group"),),
        )  # fmt: skip


def _place(standing: Standing) -> str:
    """Where in the kernel it waits for memory; to those who may not see that, state D in a group that waits says as much."""
    group, task = standing.member.latest(ControlGroup), standing.kernel
    hidden = task is not None and task.state == "D" and not task.wchan
    return awaits_memory(task) or ("state D" if hidden and group is not None and group.waits else "")


def _group(standing: Standing) -> Iterator[Reason]:
    group = standing.member.latest(ControlGroup)
    if group is not None and group.usage_bytes is not None:
        limit = f" of {group.limit_bytes >> 20} MiB" if group.limit_bytes is not None else ""
        yield Reason(
            f"control group {group.path} uses {group.usage_bytes >> 20} MiB{limit}", "cgroup", standing.member.ref
        )


RULE = make_rule(__name__, __doc__, "resource-limit", 9, check)
