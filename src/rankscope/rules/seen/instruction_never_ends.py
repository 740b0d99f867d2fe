"""A program has stood on one instruction for long: it uses the CPU, keeps the GIL, and nothing that can be read of it changes.

## What it means
A loop whose condition never changes, or one call into C code that does not come back: a regular expression that tries every
way to match, a sort or a sum of something endless. It cannot be interrupted from Python while the call lasts.

## How it is recognised
A program of no job, at which somebody pointed, was seen at the same instruction in every look, over more than `--stuck-after`,
with the same values in its variables, the GIL in its hands and a CPU at work, and the memory of the process did not change: a
long calculation takes and gives back memory all the time. Where the first two looks show this, rankscope
goes on looking until that time is reached or something moves.

## What to do
Read the line that is shown and the data it works on. `py-spy dump --native --pid PID` names the C function; SIGINT is only
served when the call returns.

## How to prevent it
Regular expressions without nested repetition; limits on the size of what is parsed; long work in a process with a time limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...analysis.progress import spins_s
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.words import span
from .. import make_rule
from .._say import at, pointed_at, ranks_of, stands, who


def check(case: Case) -> Iterator[Finding]:
    for standing in case.standings.values():
        lasted = spins_s(standing)
        if not pointed_at(case, standing) or not case.stuck(lasted):
            continue
        ref = standing.member.ref
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
            title=f"{who(standing.member.process)} does not leave one instruction in {at(standing.user_frame)}",
            ranks=ranks_of(standing), processes=(standing.member.process,),
            because=(Reason(f"for {span(lasted)} each look found it there, with the same values and the GIL in its hands",
                            "python-stack", ref), stands(standing)),
            against=("it may be long work: look again with --stuck-after and the time that one call may take",),
            next=(Step(f"rankscope stacks pid:{ref.pid} --native", ref),),
        )  # fmt: skip


RULE = make_rule(__name__, __doc__, "rank-stuck-in-user-code", 31, check)
