"""Does a thread get on? Frames and scalar locals of two sweeps, compared from the outside in."""

from __future__ import annotations

import dataclasses
import re
import statistics
from collections.abc import Mapping

from ..model.evidence.stacks import PythonStacks, PythonThread, Stack
from ..model.evidence.threads import KernelThread, Threads
from ..model.process import ProcessRef, Role
from .case import Member
from .frame_tables import Kind
from .frames import at_rest, kind_of, wait_of
from .handled import FULL, handled
from .identity import again, birth, name_of, own
from .load import (
    FRESH_WORK_BELOW,
    MUCH_BYTES,
    STIRS,
    WANTS,
    WORKS,
    WORKS_BELOW,
    transferred,
    used_below,
    watched_s,
    works_unseen,
)
from .native_work import computes_natively
from .origin import module_path
from .standing import Standing, stand
from .starved import starved
from .threads import imports
from .turns import takes_turns, team_at_work


def works(standing: Standing) -> bool:
    """Whether a process that is waited for is at work: it advances, or it runs now and then in a compiler or checkpoint."""
    patient = standing.kind in (Kind.COMPILE, Kind.CHECKPOINT) and standing.state != "D" and bool(standing.ran)
    return patient or advances(standing)


def advances(standing: Standing) -> bool:
    """Whether the work of the deciding thread moved on between the first and the last look.

    Another function than before, or a changed local in a frame *outside* the innermost one, is progress: a loop above
    it has turned. Another line or a changed local of the innermost frame alone is not, since a loop that polls does that
    too; but a whole number that changes there while the CPU is busy is a loop that works through its items, and so is one
    that grows between sleeps, unless it is called like a count of attempts. A program without Python works when it wants
    the CPU. Who wants it and hardly gets it has not stood still, it was kept waiting.
    """
    looks = _looks(standing)
    if standing.state in ("T", "t", "Z") or (standing.kind is Kind.SLEEP and handled(standing) in FULL):
        return False  # what it writes again and again finds no room
    if standing.state == "D":  # also who reads or writes much is mostly met there
        return bool(standing.ran) and (transferred(standing.member) >= MUCH_BYTES or _turned(looks))
    if standing.thread is None and (standing.busy > STIRS or _computes(standing) or works_unseen(standing.member)):
        return True
    if len(looks) < 2:
        return False
    first, last = looks[0], looks[-1]
    if transferred(standing.member) >= MUCH_BYTES or _works_below(standing) or _loop_turns(standing):
        return True
    if standing.helped and standing.kind in {*_AWAIT_WORK, Kind.LOCK}:
        return True
    if computes_natively(standing) or takes_turns(standing) or _fills_memory(standing):
        return True
    if _counts(first, last, computing=_computes(standing)) or starved(standing):
        return True
    return _turned(looks)


def _turned(looks: list[PythonThread]) -> bool:
    """Whether it went on to another function, or a loop above the innermost frame has turned."""
    if len(looks) < 2:
        return False
    first, last = looks[0], looks[-1]
    return _functions(first) != _functions(last) or _outer_locals(first) != _outer_locals(last)


# Waits in which the work is done by other threads or by processes below.
_AWAIT_WORK = {
    Kind.COMPILE, Kind.CHILD, Kind.CONDITION, Kind.PIPE, Kind.CHECKPOINT, Kind.QUEUE, Kind.SLEEP, Kind.IDLE, Kind.SOCKET,
    Kind.IMPORT_LOCK,
}  # fmt: skip


def helped(standings: Mapping[ProcessRef, Standing]) -> dict[ProcessRef, Standing]:
    """The standings, with a word at those whose own threads or children get on while they wait: theirs is the work."""
    parents = {(one.member.ref.host, one.member.process.parent) for one in standings.values() if _gets_on(one)}
    stay = {(one.member.ref.host, one.member.process.parent) for one in standings.values() if not one.member.gone}
    gone = {(one.member.ref.host, one.member.process.parent) for one in standings.values() if one.member.gone}
    renew = {(one.member.ref.host, one.member.ref.pid) for one in standings.values() if renews_workers(one.member)}
    # Of its workers some were there at one look only, or so briefly that none was met: they come and go.
    parents |= renew & gone | renew - stay
    out = dict(standings)
    for ref, one in standings.items():
        if team_at_work(one) or (one.kind in _AWAIT_WORK and ((ref.host, ref.pid) in parents or _of_threads(one))):
            out[ref] = dataclasses.replace(one, helped=True)
    return out


def _of_threads(standing: Standing) -> bool:
    other = thread_at_work(standing)
    return (other is not None and _awaited(standing, other)) or _joined_get_on(standing) or _serves(standing)


def renews_workers(member: Member) -> bool:
    """Whether a process has a pool that replaces its workers after a number of tasks."""
    return any(
        local.name == "maxtasksperchild" and local.value.isdigit()
        for stacks in member.over_time(PythonStacks)  # its thread may run at one of the looks, and cannot be read then
        for thread in stacks.threads
        for local in thread.locals
    )


def _gets_on(standing: Standing) -> bool:
    """Whether a child is at its own work: it computes, or stands in code of the job, which moves."""
    if standing.member.role is not Role.OTHER or standing.state in ("T", "t", "Z"):
        return False
    return standing.busy > WORKS or _computes(standing) or (standing.wait.user >= 0 and advances(standing))


def thread_at_work(standing: Standing) -> Standing | None:
    """Another Python thread of the process that runs the job's code, uses the CPU and gets on."""
    stacks = standing.member.latest(PythonStacks)
    for thread in stacks.threads if stacks else ():
        if thread is not standing.thread:
            other = stand(standing.member, thread)
            at_work = (
                other.busy > WORKS
                or other.state == "R"
                or (other.ran and (_has_tasks(other) or _imported(standing, other)))
            )
            if other.wait.user >= 0 and at_work and advances(other):
                return other
    return None


def _awaited(standing: Standing, other: Standing) -> bool:
    """Whether it may wait for this thread: one that sleeps waits for nobody, unless it asks again and again how far a task is."""
    return standing.kind is not Kind.SLEEP or (bool(standing.ran) and _has_tasks(other))


def _imported(standing: Standing, other: Standing) -> bool:
    """Whether a thread is in the middle of an import for which this one may wait."""
    return standing.kind is Kind.IMPORT_LOCK and imports(other.own_stack)


def _joined_get_on(standing: Standing) -> bool:
    """Whether it waits for the end of a thread, and each one of those that do not wait for work themselves gets on."""
    joins = any(module_path(frame.file) == "threading.py" and frame.function.rsplit(".", 1)[-1] == "join"
                for frame in standing.own_stack)  # fmt: skip
    stacks = standing.member.latest(PythonStacks) if joins and standing.kind is Kind.CHILD else None
    others = [stand(standing.member, one) for one in (stacks.threads if stacks else ()) if one is not standing.thread]
    working = [one for one in others if not at_rest(one.own_stack)]
    return bool(working) and all(one.ran and one.wait.user >= 0 and advances(one) for one in working)


def _serves(standing: Standing) -> bool:
    """Whether it is a manager of multiprocessing that answers: one of its other threads has run."""
    manages = any(module_path(frame.file) == "multiprocessing/managers.py" and frame.function.endswith("serve_forever")
                  for frame in standing.own_stack)  # fmt: skip
    stacks = standing.member.latest(PythonStacks) if manages else None
    others = (one for one in (stacks.threads if stacks else ()) if one is not standing.thread)
    return any(stand(standing.member, one).ran for one in others)


def _has_tasks(standing: Standing) -> bool:
    """Whether a thread does tasks of a pool: it gets on where its task does, however little CPU that takes."""
    inner = {name_of(frame) for frame in standing.own_stack}
    return bool(inner & {("multiprocessing/pool.py", "worker"), ("concurrent/futures/thread.py", "_worker")})


def _loop_turns(standing: Standing) -> bool:
    """Whether it is an event loop that wakes: what its tasks do is not on its stack."""
    loop = any(module_path(frame.file).startswith(("asyncio/", "uvloop/")) for frame in standing.own_stack)
    return standing.kind is Kind.IDLE and bool(standing.ran) and loop


def _works_below(standing: Standing) -> bool:
    """Whether the processes it started used the CPU between the looks: a build, a compiler, a command at work."""
    least = FRESH_WORK_BELOW if renews_workers(standing.member) else WORKS_BELOW
    return standing.kind in _AWAIT_WORK and used_below(standing.member) > least


def spins_s(standing: Standing) -> float | None:
    """For how long a thread was seen at one instruction, with the same values, wanting the CPU and holding the GIL.

    None where it was not: one that computes lets others have the GIL, calls something, or changes a number. On a busy
    machine it may get little of the CPU, so what counts is that it never went to sleep by itself.
    """
    looks = _looks(standing)
    tasks = [_task_of(standing, one) for one in standing.member.over_time(Threads)]
    slept = len({task.voluntary for task in tasks if task is not None}) != 1
    if len(looks) < 2 or standing.moved or slept or not _computes(standing) or not all(one.holds_gil for one in looks):
        return None
    if _fills_memory(standing):
        return None
    return watched_s(standing.member)


# Between two looks; an interpreter that does nothing new asks for less.
_MUCH_MEMORY = 128 << 10


def _fills_memory(standing: Standing) -> bool:
    """Whether a thread that keeps the GIL in one instruction takes and gives back memory: a sort, a large number, a parser at
    work. Nobody else of its process can do so meanwhile, and what goes round in circles needs no more than it has."""
    sizes = [one.rss_bytes for one in standing.member.over_time(Threads)]
    looks = _looks(standing)
    if len(looks) < 2 or standing.moved or None in sizes or not all(one.holds_gil for one in looks):
        return False
    known = [size for size in sizes if size is not None]
    return _computes(standing) and statistics.median(abs(b - a) for a, b in zip(known, known[1:])) >= _MUCH_MEMORY


def _looks(standing: Standing) -> list[PythonThread]:
    """The deciding thread at each look that shows it."""
    if standing.thread is None:
        return []
    return [
        one for look in standing.member.over_time(PythonStacks) if (one := again(look, standing.thread)) is not None
    ]


# One that goes to sleep by itself is interrupted by chance only, and not as often as this between two looks.
_SWITCHES = 5


def _computes(standing: Standing) -> bool:
    """Whether the thread wants the CPU: it has it, waits for it, or was made to give it up between the looks."""
    if standing.busy > WANTS or standing.state == "R":
        return True
    before, now = (_task_of(standing, one) for one in (standing.member.first(Threads), standing.member.latest(Threads)))
    return before is not None and now is not None and now.involuntary > before.involuntary + _SWITCHES


# What programs call a number that says how often or how long they have asked in vain.
_ATTEMPTS = re.compile(
    r"_+$|attempt|retr(?:y|ies)|tr(?:y|ies)(?:_|$)|wait|poll|elapsed|timeout|tick|spin|sleep|(?:^|_)ms$", re.I
)


def _task_of(standing: Standing, threads: Threads | None) -> KernelThread | None:
    """The deciding thread at one moment."""
    tid = standing.kernel.tid if standing.kernel else 0
    return next((task for task in threads.threads if task.tid == tid), None) if threads else None


def _counts(first: PythonThread, last: PythonThread, computing: bool) -> bool:
    """Whether a whole-number local of the innermost frame has grown; a count of attempts only where it may be one.

    Of a thread that computes a changed one is enough: its numbers are made anew while they are read, so that one may be seen
    with the value of another. What does not change is never made anew.
    """
    innermost = len(last.stack) - 1
    before = {local.name: local.value for local in first.locals if local.depth == innermost}
    return len(first.stack) == len(last.stack) and any(
        local.depth == innermost
        and local.value.isdigit()
        and before.get(local.name, "").isdigit()
        and (int(local.value) > int(before[local.name]) or (computing and local.value != before[local.name]))
        and (computing or not _ATTEMPTS.search(local.name))
        for local in last.locals
    )


def _own_depths(thread: PythonThread) -> range:
    return range(birth(thread.stack), len(thread.stack))


def _functions(thread: PythonThread) -> list[tuple[str, str]]:
    return [(thread.stack[i].file, thread.stack[i].function) for i in _own_depths(thread)]


def _outer_locals(thread: PythonThread) -> list[tuple[int, str, str]]:
    start = birth(thread.stack)
    inner = start + _asked_from(own(thread.stack))
    return [(local.depth, local.name, local.value) for local in thread.locals if start <= local.depth < inner]


# Where the standard library waits, mostly with a time limit.
_RESTS = {
    "threading.py", "queue.py", "selectors.py", "multiprocessing/queues.py", "multiprocessing/connection.py",
}  # fmt: skip


def _asked_from(stack: Stack) -> int:
    """The innermost frame; of who waits for a loader, where the loader's own loop begins: it asks its queue again and again
    with a limit, and keeps in its locals that it did so in vain (torch/utils/data/dataloader.py, ``_try_get_data``)."""
    wait, last = wait_of(stack), Stack(frame for frame in stack if frame.library is None)[-1:]
    if wait.kind is not Kind.DATA or not any(module_path(frame.file) in _RESTS for frame in last):
        return len(stack) - 1
    at = wait.index
    while at > 0 and kind_of(stack[at - 1]) is Kind.DATA:
        at -= 1
    return at


def counters(standing: Standing) -> dict[tuple[str, str, str], int]:
    """Whole-number locals of the job's own frames: (file, function, name) → value; they place ranks in a loop."""
    thread = standing.thread
    if thread is None:
        return {}
    user = standing.wait.user + birth(thread.stack)
    out = {}
    for local in thread.locals:
        if birth(thread.stack) <= local.depth <= user and local.value.lstrip("-").isdigit():
            frame = thread.stack[local.depth]
            out[frame.file, frame.function, local.name] = int(local.value)
    return out
