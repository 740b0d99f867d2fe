"""A process reads from a queue or pipe into which nobody else can write any more: who should have has ended.

## What it means
A helper process that was to deliver items (a reader of data, a simulator, a worker made by hand) has been killed or has ended
early, and was reaped or belonged to a fork server. The reading process has kept the writing end open itself, as
`multiprocessing.Queue` and `Pipe` do, so the kernel never reports the end of the data. Or the parent is at its own end and waits
for this process, to which it never said that there are no more items.

## How it is recognised
A thread waits in multiprocessing's `get` or `recv` on one pipe or socket pair; of all processes on the host only its own has
the other end open; and no other thread of it is at work that could write.

## What to do
Find why the helper ended: its log, `dmesg` for the OOM killer, its exit code (`process.exitcode`). Wait for items with a
time-out and look at `process.is_alive()`, or wait for the queue and `process.sentinel` together
(`multiprocessing.connection.wait`).

## How to prevent it
`concurrent.futures`, which raises `BrokenProcessPool`; close the writing end in the reader (`connection.close()`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.callers import call_of
from ...analysis.case import Case, Member
from ...analysis.dead_children import QUEUES
from ...analysis.ends import writable
from ...analysis.frame_tables import WaitKind
from ...analysis.identity import module_path_of
from ...analysis.standing import Standing
from ...analysis.threads import parent_of, possible_holders, views
from ...model.diagnosis import Finding, Kind, Reason, Step
from ...model.evidence.blocked import Blocked
from ...model.evidence.files import OpenFiles
from ...model.evidence.outsiders import Outsiders
from ...model.evidence.sockets import Sockets
from .. import make_rule
from .._say import at, certainty, just_come, old_roots, ranks_of, stands, waited_for, who

_READS = ("read", "recv", "poll", "ppoll")


def check(case: Case) -> Iterator[Finding]:
    for root, standing in old_roots(case):
        if standing.kind not in (WaitKind.QUEUE, WaitKind.PIPE) or not _multiprocessing(standing):
            continue
        fd, end = _awaited(standing)
        if not end or not _alone(case, standing, fd, end):
            continue
        ended = tuple(_at_end(case, standing.member))
        yield Finding(
            rule=RULE.id, cls="exit-hang" if ended else RULE.cls, kind=Kind.CAUSE, certainty=certainty(case, root, standing),
            title=f"{who(standing.member.process)} waits for items that nobody is left to send, in {at(standing.user_frame)}",
            ranks=ranks_of(standing), processes=(standing.member.process, *(one.process for one in ended)),
            because=(stands(standing), Reason(f"nobody but itself has the other end of descriptor {fd} open ({end})",
                                              "files", standing.member.ref), *_told(ended), *waited_for(root)),
            against=tuple(just_come(case, standing)),
            next=(Step("dmesg -T | grep -iE 'killed process|segfault' | tail", standing.member.ref),
                  Step(f"ls -l /proc/{standing.member.ref.pid}/fd", standing.member.ref)),
        )  # fmt: skip


def _at_end(case: Case, member: Member) -> Iterator[Member]:
    """The parent, where its program is over and it waits for this process or a sibling: it gave no word that there is no more."""
    parent = parent_of(case, member)
    standing = case.standings.get(parent.ref) if parent is not None else None
    call = call_of(standing) if standing is not None and standing.kind is WaitKind.EXIT else None
    if parent is not None and call is not None and call.child in {one.ref.pid for one in case.children_of(parent.ref)}:
        yield parent


def _told(ended: tuple[Member, ...]) -> Iterator[Reason]:
    for one in ended:
        yield Reason(f"{who(one.process)} is at its end and waits for the end of its children", "kernel", one.ref)


def _multiprocessing(standing: Standing) -> bool:
    return any(module_path_of(frame) in QUEUES for frame in standing.own_stack[standing.wait.user + 1 :])


def _awaited(standing: Standing) -> tuple[int, str]:
    """The descriptor that the thread reads, and what its other end is called in /proc/PID/fd; (-1, "") where unknown."""
    member = standing.member
    blocked, files, sockets = member.latest(Blocked), member.latest(OpenFiles), member.latest(Sockets)
    tid = standing.kernel.tid if standing.kernel else 0
    call = next((one for one in blocked.calls if one.tid == tid), None) if blocked else None
    if call is None or files is None or files.truncated or len(call.fds) != 1 or not call.call.startswith(_READS):
        return -1, ""
    target = next((one.target for one in files.files if one.fd == call.fds[0]), "")
    if target.startswith("socket:["):
        known = {f"socket:[{one.inode}]": one for one in sockets.sockets} if sockets else {}
        mine = known.get(target)
        target = f"socket:[{mine.peer_inode}]" if mine is not None and mine.kind == "unix" and mine.peer_inode else ""
    return call.fds[0], target


def _alone(case: Case, standing: Standing, fd: int, end: str) -> bool:
    """Whether its own process has the other end, nobody else has, and no other thread of it is at work."""
    member = standing.member
    if end not in writable(member):
        return False
    others = (one for one in case if one is not member and one.ref.host == member.ref.host)
    if any(one.latest(OpenFiles) is None or end in writable(one) for one in others if not one.gone):
        return False  # somebody else may write, or did not let us see
    beside = member.latest(Outsiders)
    if beside is not None and any(one.fd == fd for one in beside.found):
        return False
    threads = views(member)
    return not possible_holders(tuple(view for view in threads if view.python is not standing.thread))


RULE = make_rule(__name__, __doc__, "child-dead", 23, check)
