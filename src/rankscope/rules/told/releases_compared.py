"""One release of a library works and another does not.

## What it means
Somebody ran the same thing twice, and nothing but a release was changed. That settles where to look, whatever the messages
say: errors, time-outs and dead ranks of the run that failed are what the defect looks like from outside.

## How it is recognised
Each clause of what people wrote is read for a release and an outcome (`passes with 2021.17.2; hangs with 2022.0.0`,
`1.18.1 instead of 1.19.0 and it runs`, `gone after downgrading`), also where the release stands in the heading or in the
command of a run. One release that works is enough where the evidence itself names another one of the same library. Advice
(`please upgrade to …`) counts for nothing, and neither does a comparison beside a setting that is known to cure it.

## What to do
Pin the version that works (`pip install nvidia-nccl-cu12==…`, `torch==…`) and report both versions with the stacks.

    python -m torch.utils.collect_env   # in both environments, then diff the two

## How to prevent it
Change one library at a time, and run the same test before and after. A comparison of this kind: https://github.com/uxlfoundation/oneCCL/issues/215
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...model.diagnosis import Finding
from .. import make_rule
from ._findings import finding
from ._releases import compared, named


def check(case: Case) -> Iterator[Finding]:
    found = list(compared(case))
    if found:
        steps = ("name both versions: the one that fails and the one that works",)
        yield finding(RULE, case, found, f"a release of a library has a defect ({named(case)})", steps)


RULE = make_rule(__name__, __doc__, "version-bug", 9, check)
