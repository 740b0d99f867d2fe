"""A process reads what a child writes to its end; the child has ended, and another process keeps the pipe open.

## What it means
A pipe ends when nobody can write to it any more. A command that starts something in the background (a daemon, a server, `&` in
a shell) hands its output on to it: the command ends, its child lives on with the writing end, and `communicate()`,
`subprocess.run(capture_output=True)`, `check_output()` and `read()` wait for as long as that one runs. So does whoever forks
several children with a pipe each: a later child inherits the writing ends of all pipes that are open by then.

## How it is recognised
A thread that the process waits for (or its event loop, with nothing else to wait for) has read from a pipe for longer than
`--stuck-after`. Of the job nobody can write to it; the writing end is open in a process whose parent is no part of the job and
which did not start the reader. Where a child of the reader has ended and was not collected that is likely, else possible. Or
only another child of the reader can write to it, which has the writing ends of several pipes of the reader, and a child that
has ended was not collected. Standard input is left out: it may come from anywhere.

## What to do
End what still runs, if nobody needs it, or give it an output of its own: `cmd >/dev/null 2>&1 &`, `stdout=DEVNULL`,
`start_new_session=True`; a file in place of the pipe, and `wait()` in place of `communicate()`. After `os.fork()` a child closes
the ends that are not its own; `subprocess` does (`close_fds=True`).

## How to prevent it
Daemons that close the descriptors they inherit; a time limit in `communicate()`, after which the program looks who is left.

## Links
https://docs.python.org/3/library/subprocess.html#subprocess.Popen.communicate
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case, Member
from ...analysis.ends import holds, targets
from ...analysis.frame_tables import WaitKind
from ...analysis.standing import Standing
from ...analysis.threads import ThreadView, views, waits_for_thread
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.files import OpenFiles
from ...model.evidence.outsiders import Outsider, Outsiders
from ...model.evidence.sockets import Socket
from ...model.process import Role
from ...model.words import span
from .. import make_rule
from .._death import ended
from .._outside import process_of
from .._say import at, pointed_at, ranks_of, who

_READS = ("read", "poll", "ppoll", "select", "pselect", "epoll")
_STREAMS = (0, 1, 2)  # standard ones, which whoever started the process gave to it
_SEVERAL = 4  # as many are named


def check(case: Case) -> Iterator[Finding]:
    for standing in case.standings.values() if case.snapshot.live else ():
        if standing.member.gone or standing.member.role is Role.HELPER:
            continue
        for view in _readers(case, standing):
            keepers = tuple(_keepers(case, standing.member, view))
            if keepers and not _told_elsewhere(case, standing, view):
                yield _finding(case, standing, view, keepers)
                break
            heirs = tuple(_heirs(case, standing.member, view))
            if heirs:
                yield _inherited(case, standing, view, heirs)
                break


def _told_elsewhere(case: Case, standing: Standing, view: ThreadView) -> bool:
    """Whether no ended child explains the pipe, and ``rank-in-user-code`` names who has the other end of what it reads."""
    alone = standing.kind is WaitKind.PIPE and view.python is standing.thread
    spoken_of = pointed_at(case, standing) or bool(case.graph.to(standing.member.ref))
    return alone and spoken_of and not any(one.dead for one in case.children_of(standing.member.ref))


def _finding(case: Case, standing: Standing, view: ThreadView, keepers: tuple[Outsider, ...]) -> Finding:
    member, first = standing.member, keepers[0]
    dead = [one for one in case.children_of(member.ref) if one.dead]
    place = at(view.wait.user_frame or standing.user_frame)
    return Finding(
        rule=RULE.id, cls=RULE.cls if dead else "rank-stuck-in-user-code", kind=Kind.CAUSE,
        certainty=Certainty.LIKELY if dead else Certainty.POSSIBLE,
        title=f"{who(member.process)} reads a pipe to its end in {place}, and pid {first.pid} ({first.comm}), which a command "
              "left running, keeps it open",
        ranks=ranks_of(standing), processes=(member.process, *(process_of(standing, one) for one in keepers[:_SEVERAL])),
        because=(Reason(f"{view.name} has read for {span(view.task.still_s if view.task else None)}", "kernel", member.ref),
                 *(Reason(f"pid {one.pid} ({one.comm}) has the writing end; its parent is pid {one.parent}, no part of the job",
                          "files", member.ref) for one in keepers[:_SEVERAL]),
                 *(Reason(f"{who(one.process)}, a child of the reader, has ended", "kernel", one.ref) for one in dead[:1])),
        against=() if dead else ("a helper that was started so on purpose may have something to tell later",),
        next=(Step(f"ps -o pid,ppid,lstart,args -p {','.join(str(one.pid) for one in keepers[:_SEVERAL])}", member.ref),
              Step(f"rankscope stacks pid:{member.ref.pid} --source", member.ref)),
    )  # fmt: skip


def _inherited(case: Case, standing: Standing, view: ThreadView, heirs: tuple[Member, ...]) -> Finding:
    member, first = standing.member, heirs[0]
    ended_ones = _ended(case, member)
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
        title=f"{who(member.process)} reads a pipe to its end in {at(view.wait.user_frame or standing.user_frame)}; a child has "
              f"ended, and {who(first.process)}, which inherited the writing end, keeps it open",
        ranks=ranks_of(standing), processes=(*(one.process for one in (*ended_ones, *heirs)), member.process),
        because=(Reason(f"{view.name} has read for {span(view.task.still_s if view.task else None)}", "kernel", member.ref),
                 *(Reason(f"{who(one.process)} has the writing ends of several pipes that this one reads", "files", one.ref)
                   for one in heirs[:_SEVERAL]),
                 *(Reason(f"{who(one.process)} {ended(one)}", "kernel", one.ref) for one in ended_ones[:_SEVERAL])),
        next=(Step(f"ls -l /proc/{first.ref.pid}/fd", first.ref),
              Step(f"rankscope stacks pid:{member.ref.pid} --source", member.ref)),
    )  # fmt: skip


def _ended(case: Case, member: Member) -> list[Member]:
    """The children of a process that have ended, and that it has not collected."""
    return [one for one in case.children_of(member.ref) if one.dead and not one.gone]


def _heirs(case: Case, member: Member, view: ThreadView) -> Iterator[Member]:
    """The living children of a process that alone can write to what a thread of it reads, where each can write to several of its
    pipes, so that it has inherited them."""
    found = [one for _, one in targets(member, view.call.fds if view.call is not None else ())]
    pipe = found[0] if len(found) == 1 else None
    if not isinstance(pipe, str) or not _ended(case, member):
        return
    writers = [one for one in case.by_host[member.ref.host] if not one.dead and holds(one, pipe, "w")]
    read = {one for one in _pipes(member, "r") if one not in _pipes(member, "w")}
    if all(one.process.parent == member.ref.pid and len(read & _pipes(one, "w")) > 1 for one in writers):
        yield from writers


def _pipes(member: Member, end: str) -> set[str]:
    """The pipes of which a process has the end open that reads (``r``) or writes (``w``)."""
    files = member.latest(OpenFiles)
    return {one.target for one in files.files if end in one.mode and one.target.startswith("pipe:")} if files else set()


def _readers(case: Case, standing: Standing) -> Iterator[ThreadView]:
    """The thread that decides, or those that it may wait for, where they have read without a time limit for long."""
    every = views(standing.member)
    waits = any(view.python is standing.thread and waits_for_thread(view) for view in every)
    for view in every:
        call = view.call
        if call is None or call.timed or not call.fds or not call.call.startswith(_READS) or view.task is None:
            continue
        if (waits or view.python is standing.thread) and case.stuck(view.task.still_s):
            yield view


def _keepers(case: Case, member: Member, view: ThreadView) -> Iterator[Outsider]:
    """Who beside the job could write to the pipes that a thread reads, where nobody of the job could and all that it waits on
    are such pipes, or the two ends with which an event loop wakes itself."""
    fds = view.call.fds if view.call is not None else ()
    found = dict(targets(member, fds))
    pipes = {fd: one for fd, one in found.items() if isinstance(one, str)}
    beside = member.latest(Outsiders)
    if not pipes or beside is None or (view.wait.kind is not WaitKind.IDLE and len(pipes) < len(fds)):
        return
    if any(isinstance(one, Socket) and not _own_pair(member, one) for one in found.values()):
        return
    ours = {one.ref.pid for one in case.by_host[member.ref.host]}
    for one in beside.found:
        pipe = pipes.get(one.fd, "")
        inside = any(holds(other, pipe, "w") for other in case.by_host[member.ref.host] if not other.dead)
        strange = one.pid not in ours and one.pid != member.process.parent and one.parent not in ours
        if pipe and one.fd not in _STREAMS and strange and not inside:
            yield one


def _own_pair(member: Member, end: Socket) -> bool:
    """Whether a process has both ends of a connection."""
    return any(isinstance(one, Socket) and one.inode == end.peer_inode for _, one in targets(member, range(_MOST_FDS)))


_MOST_FDS = 1024

RULE = make_rule(__name__, __doc__, "child-dead", 24, check)
