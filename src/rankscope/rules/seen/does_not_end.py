"""A process has finished its work but does not end.

## What it means
The program's last line has run; the interpreter is shutting down and waits: for a non-daemon thread, in an atexit handler, for
a helper of a logging or tracking library, or for peers in `destroy_process_group`.

## How it is recognised
The main thread stands in the interpreter's shutdown (`threading._shutdown`, `atexit`, multiprocessing's exit function) or in
the tear-down of a process group, and has not run, or the interpreter says that it is finalizing, or has been taken
down while the process lives on. So does a function that nothing of the program lies below: the interpreter itself called it.
An interpreter within another program is handed such functions all its life, and is not at its end for that; nor is a server
of remote calls whose threads still answer its peers. Of saved evidence it counts that other ranks said the same last words and
are not among the processes any more.

## What to do
The thread or handler that is waited for is shown; end it with a time limit, make it a daemon, or leave with `os._exit` after
flushing.

## How to prevent it
Tear down on all ranks at the same place; time-limited handlers; close trackers before the last collective.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.answering import answers
from ...analysis.awaited import is_python
from ...analysis.case import Case, Member
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import has
from ...analysis.identity import birth, name_of
from ...analysis.progress import advances
from ...analysis.standing import Standing, stand
from ...analysis.threads import ThreadView, asleep_alone, views
from ...analysis.waits.remote_call import ends_calls
from ...model.diagnosis import Finding, Kind, Reason, Step
from ...model.evidence.stacks import Frame, PythonStacks, Trust
from ...model.patterns import regex
from ...model.process import Role
from ...model.ranks import RankSet
from ...model.words import span
from .. import make_rule
from .._say import at, certainty, just_come, old_roots, waited_for, who

_TAKES_DOWN = ("asyncio/base_events.py", "_do_shutdown")


def check(case: Case) -> Iterator[Finding]:
    for root, standing in old_roots(case):
        member = standing.member
        if member.role not in (Role.RANK, Role.OTHER, Role.LAUNCHER) or not _ending(case, standing):
            continue
        if _gets_on(standing) if case.snapshot.live else _at_work(standing):
            continue  # it waits for a thread that was seen to run
        if answers(member) or (ends_calls(standing) and not all(map(ends_calls, _ranks(case)))):
            continue  # its peers may still call it: a server stands there for as long as they do
        alone = tuple(_last_there(case, member))
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=certainty(case, root, standing), compared=bool(alone),
            title=f"{who(member.process)} has finished but does not end: it waits in {_where(standing)}",
            ranks=RankSet([member.rank] if member.rank is not None else []), processes=(member.process,),
            because=(Reason(f"its main thread has not run for {span(standing.still_s)}", "kernel", member.ref),
                     *_others(member), *alone, *waited_for(root)),
            against=tuple(just_come(case, standing)),
            next=(Step(f"rankscope stacks pid:{member.ref.pid} {'--native' if _taken_down(member) else '--raw'}", member.ref),),
        )  # fmt: skip


def _gets_on(standing: Standing) -> bool:
    """Whether another thread of the job's code turned its loops between the looks: it may well come to its end."""
    others = (view for view in views(standing.member) if view.python is not standing.thread and view.wait.user >= 0)
    return any(advances(stand(standing.member, view.python)) for view in others)


def _ranks(case: Case) -> Iterator[Standing]:
    return (case.standings[member.ref] for member in case.by_rank.values() if not member.gone)


def _at_work(standing: Standing) -> bool:
    """Whether another thread of the program runs, as far as a tool tells."""
    stacks = standing.member.latest(PythonStacks)
    return any(one.active or one.holds_gil for one in (stacks.threads if stacks else ()) if one is not standing.thread)


def _ending(case: Case, standing: Standing) -> bool:
    stacks = standing.member.latest(PythonStacks)
    if _called_at_exit(standing) and _runs_a_module(case, standing.member):
        return True
    return (
        standing.kind is WaitKind.EXIT
        or (standing.kind is WaitKind.IDLE and any(map(_takes_down_loop, views(standing.member))))
        or has(standing.own_stack, WaitKind.EXIT) is not None
        or bool(stacks and stacks.finalizing)
    )


def _takes_down_loop(view: ThreadView) -> bool:
    """Whether it is the thread in which ``asyncio.run``, once all is done, waits for the threads of the loop's executor."""
    return _TAKES_DOWN in map(name_of, view.stack) and asleep_alone(view)


def _called_at_exit(standing: Standing) -> bool:
    """Whether the main thread's stack has no program below it: the interpreter itself called this function, as atexit does."""
    thread = standing.thread
    if thread is None or not thread.stack or thread.tid != standing.member.ref.pid or thread.trust is not Trust.EXACT:
        return False
    if birth(thread.stack):
        return False  # what it was forked in the middle of lies below, which may be a thread of its parent
    root = thread.stack[0]
    return not _is_program(root) and not root.file.startswith("<") and "runpy" not in root.file


def _is_program(root: Frame) -> bool:
    return root.function == "<module>"


def _runs_a_module(case: Case, member: Member) -> bool:
    """Whether its program lies below all it does until its end: Python's own executable runs nothing but modules, while an
    interpreter within another program (a server in C++, a compiled main) is handed functions all its life. Of an executable
    that is not known, an earlier look or a process of the same program may show a module."""
    same = (
        one
        for one in case
        if (one.process.executable, one.process.command) == (member.process.executable, member.process.command)
    )
    threads = ((one, thread) for one in same for look in one.over_time(PythonStacks) for thread in look.threads)
    return is_python(member.process) or any(
        thread.tid == one.ref.pid and thread.stack and _is_program(thread.stack[0]) for one, thread in threads
    )


def _taken_down(member: Member) -> bool:
    """Whether no thread of Python is left of an interpreter that has been finalizing: the process itself lives on."""
    stacks = member.latest(PythonStacks)
    return stacks is not None and stacks.finalizing and not stacks.threads


def _where(standing: Standing) -> str:
    if _taken_down(standing.member):
        return "what libraries do at the end (destructors, atexit handlers), after its Python has been taken down"
    return (
        at(standing.user_frame)
        if standing.user_frame
        else (standing.stack[-1].function if standing.stack else "shutdown")
    )


def _others(member: Member) -> Iterator[Reason]:
    """The threads that keep it alive."""
    for view in views(member)[1:4]:
        if view.python.tid != member.ref.pid and view.stack:
            yield Reason(f"{view.name} still stands in {at(view.wait.user_frame)}", "python-stack", member.ref)


def _last_there(case: Case, member: Member) -> Iterator[Reason]:
    """That other ranks said the same last words, and are not among the processes any more."""
    rows = {event.pid: event for event in case.events if event.event == "proc.row"}
    mine = rows.get(member.ref.pid)
    if case.snapshot.live or mine is None:
        return
    there = [row.pid for row in rows.values() if row.fields.get("command") == mine.fields.get("command")]
    lines = (event for event in case.events if event.event == "text.line" and event.rank is not None)
    last = {(event.file, event.rank): _NUMBER.sub("#", event.text.strip()) for event in lines}
    mine_last = (
        [(file, words) for (file, rank), words in last.items() if rank == member.rank] if len(there) == 1 else []
    )
    for file, words in mine_last:
        others = [one for (name, one), said in last.items() if name == file and one != member.rank and said == words]
        if others:
            more = "" if len(others) == 1 else f" and {len(others) - 1} more"
            text = f"rank {others[0]}{more} said the same last words, and no other process of its command is there"
            yield Reason(text, file, member.ref)


_NUMBER = regex(r"\d+")


RULE = make_rule(__name__, __doc__, "exit-hang", 29, check)
