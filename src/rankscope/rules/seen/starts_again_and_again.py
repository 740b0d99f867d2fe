"""A program does nothing but start another one, again and again, each of which ends soon.

## What it means
A supervisor starts its program anew whenever that ends, without a limit. Where the program cannot begin (a wrong argument, an
import that fails, a port that is taken) that goes on for ever: the machine is busy, and nothing gets done. A monitor that calls
a command each second looks the same and is well, so this is a note: the exit codes of the programs decide, and only who started
them knows those.

## How it is recognised
No rank lives. Between the looks children of the process have ended and been waited for, as often as all the time since it
began (the kernel adds up their page faults), and none of them stays. The functions of the program in which it stands, and the
numbers in these, are the same at each look, but for what may be a count of attempts, and no other thread is at work in its
code. One that starts its program less often than once between two looks is not recognised.

## What to do
Read the output of the programs; `strace -f -e trace=execve,exit_group -p PID` shows what is started and how it ends (it slows the
job down meanwhile). `rankscope diagnose --sweeps 3 --interval 10` looks for longer.

## How to prevent it
A limit of restarts, a pause that grows, and a line in the log for each end with its exit code.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...analysis.standing import Standing
from ...analysis.starting import starters
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.threads import Threads
from ...model.words import span
from .. import make_rule
from .._say import at, who


def check(case: Case) -> Iterator[Finding]:
    for standing in starters(case):
        process = standing.member.process
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.NOTE, certainty=Certainty.POSSIBLE,
            title=f"{who(process)} starts programs in {at(standing.user_frame)}, again and again, and none of them stays: "
                  "whether they fail their exit codes tell",
            processes=(process,), because=(Reason(_since(standing), "kernel", process.ref),),
            against=("a monitor that calls a command now and then looks like this",),
            next=(Step(f"strace -f -e trace=execve,exit_group -p {process.ref.pid}", process.ref, "slows the job down meanwhile"),
                  Step(f"rankscope stacks pid:{process.ref.pid} --source", process.ref),
                  "rankscope diagnose --sweeps 3 --interval 10"),
        )  # fmt: skip


def _since(standing: Standing) -> str:
    kernel = standing.member.latest(Threads)
    age = f"in the {span(kernel.uptime_s)} since it began" if kernel is not None else "before"
    return f"children of it ended between the looks, as often as {age}; its own loops did not get on"


RULE = make_rule(__name__, __doc__, "child-dead", 31, check)
