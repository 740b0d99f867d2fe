"""A thread waits for a module that another thread is still importing, and that thread waits for it.

## What it means
Importing a module locks it. Code at the top of a module that starts a thread and waits for it stops for ever when that thread
imports the same module (or anything that needs it).

## How it is recognised
One thread stands in `importlib`'s module lock; another one, in the middle of an import, joins a thread, waits for a future or
for a lock; neither has run. Where the importing thread loads one module after the other, the import is long, not stuck.

## What to do
Move the work out of the top of the module into a function that is called after the import.

## How to prevent it
No threads, pools or blocking calls at import time.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.progress import advances
from ...analysis.threads import imports, views
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.ranks import RankSet
from .. import make_rule
from .._say import at, waited_for, who

_WAITS = {WaitKind.CHILD, WaitKind.CONDITION, WaitKind.LOCK, WaitKind.QUEUE, WaitKind.IMPORT_LOCK}


def check(case: Case) -> Iterator[Finding]:
    for member in case:
        everybody = views(member) if not member.gone else ()
        waiting = [
            v
            for v in everybody
            if v.wait.kind is WaitKind.IMPORT_LOCK and case.stuck(v.task.still_s if v.task else None)
        ]
        importing = [v for v in everybody if imports(v.stack) and v.wait.kind in _WAITS and v not in waiting[:1]]
        if not waiting or not importing or advances(case.standings[member.ref]):
            continue
        root = case.graph.root(member.ref)
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
            title=f"{who(member.process)}: {waiting[0].name} waits for a module that {importing[0].name} is importing",
            ranks=RankSet([member.rank] if member.rank is not None else []), processes=(member.process,),
            because=(Reason(f"{waiting[0].name} waits for the module lock in {at(waiting[0].wait.user_frame)}", "python-stack",
                            member.ref),
                     Reason(f"{importing[0].name} imports and waits in {at(importing[0].wait.user_frame)}", "python-stack",
                            member.ref), *(waited_for(root) if root else ())),
            next=(Step(f"rankscope stacks pid:{member.ref.pid} --raw", member.ref),),
        )  # fmt: skip


RULE = make_rule(__name__, __doc__, "import-lock", 15, check)
