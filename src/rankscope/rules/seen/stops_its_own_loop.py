"""A server is told to shut down by the thread that serves, which waits for itself.

## What it means
`socketserver.BaseServer.shutdown()` (and that of `http.server`, `xmlrpc.server` and their like) sets a flag and waits until the
loop of `serve_forever()` has ended. Called from a request handler of a server without threads of its own, that loop is further up
on the same stack: it never looks at the flag.

## How it is recognised
One stack has `serve_forever` of socketserver and, below it, `shutdown`, which waits; no other thread of the process serves, so
that it is its own loop which it stops. This is certain once it has stood for longer than `--stuck-after`.

## What to do
Call `shutdown()` from another thread: `threading.Thread(target=server.shutdown, daemon=True).start()` in the handler.

## How to prevent it
`ThreadingHTTPServer` and `socketserver.ThreadingMixIn`, whose handlers run in threads of their own.

## Links
https://docs.python.org/3/library/socketserver.html#socketserver.BaseServer.shutdown
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case, Member
from ...analysis.identity import name_of
from ...analysis.threads import ThreadView, views
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.ranks import RankSet
from ...model.words import span
from .. import make_rule
from .._say import at, who

_FILE = "socketserver.py"


def check(case: Case) -> Iterator[Finding]:
    for member in case if case.snapshot.live else ():
        serving = [view for view in views(member) if _place(view, "serve_forever") is not None]
        if len(serving) == 1 and (finding := _finding(case, member, serving[0])) is not None:
            yield finding


def _finding(case: Case, member: Member, view: ThreadView) -> Finding | None:
    serves, stops = _place(view, "serve_forever"), _place(view, "shutdown")
    still = view.task.still_s if view.task is not None else None
    if serves is None or stops is None or stops < serves or not view.asleep or not case.stuck(still):
        return None
    caller = view.stack[stops - 1]
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.CERTAIN,
        title=f"{who(member.process)} shuts its server down from the thread that serves, in {at(caller)}, and waits for itself",
        ranks=RankSet([member.rank] if member.rank is not None else []), processes=(member.process,),
        because=(Reason(f"{view.name} stands in shutdown() called from within serve_forever(), for {span(still)}",
                        "python-stack", member.ref),),
        next=(Step(f"rankscope stacks pid:{member.ref.pid} --source", member.ref),),
    )  # fmt: skip


def _place(view: ThreadView, function: str) -> int | None:
    """How deep a function of socketserver lies on a stack."""
    return next((depth for depth, frame in enumerate(view.stack) if name_of(frame) == (_FILE, function)), None)


RULE = make_rule(__name__, __doc__, "lock-order-deadlock", 18, check)
