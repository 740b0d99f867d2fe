"""A forked child waits for a lock whose holder exists only in its parent.

## What it means
`fork` copies the memory of a process, its locks included, but only the thread that called it. A lock that another thread held
at that moment stays locked in the child for ever: a logging handler's, an allocator's, that of a native thread pool.

## How it is recognised
The process was forked from a running Python with several threads; it waits for a lock, and no thread of its own can hold it.
Where the mutex names its owner, that owner is a thread of the parent, or was one before the fork. A lock of `multiprocessing` is
no copy: processes share it. A loader worker may stand so before its first item: it seeds the generators of Python, NumPy and
torch first, and each of them has a lock.

## What to do
Start the workers with `spawn` or `forkserver` (`multiprocessing_context="spawn"` for a DataLoader), or before anything starts
threads. The library is named by the frames above the lock.

## How to prevent it
`multiprocessing.set_start_method("spawn")`; no clients, thread pools or background loggers before the fork. Python 3.12 and
later warn: "use of fork() may lead to deadlocks in the child".

## Links
https://github.com/python/cpython/issues/84559
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case, Member
from ...analysis.frame_tables import WaitKind
from ...analysis.identity import module_path_of
from ...analysis.threads import ThreadView, forked, parent_of, possible_holders, views
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.shared_locks import SharedLocks
from ...model.evidence.threads import Threads
from ...model.ranks import RankSet
from ...model.words import counted, span
from .. import make_rule
from .._say import at, waited_for, who

_SEMAPHORES = "_multiprocessing."  # the extension module, which waits in nothing but semaphores that processes share
_BLOCKED = {WaitKind.LOCK, WaitKind.IMPORT_LOCK}
_LOOP = ("torch/utils/data/_utils/worker.py", "_worker_loop")


def check(case: Case) -> Iterator[Finding]:
    for member in case:
        parent = parent_of(case, member)
        if member.gone or not forked(member, parent):
            continue
        everybody = views(member)
        words = {view.lock_word for view in everybody if view.wants_lock and view.lock_word}
        if len(words) >= 2 and not any(view.call and _owner_in_parent(view, parent) for view in everybody):
            continue  # two threads of its own wait for two locks: that is between them
        for view in everybody:
            still = view.task.still_s if view.task else None
            if not (view.wait.kind in _BLOCKED or _begins(view)) or not view.asleep or not case.stuck(still):
                continue
            if _shared(member, view):
                continue
            owner = _owner_in_parent(view, parent)
            gone = 0 if owner else _owner_gone(view, member)
            if not (owner or gone) and (possible_holders(everybody) or _threads(parent) == 1):
                continue
            root = case.graph.root(member.ref)
            yield Finding(
                rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.CERTAIN if owner else Certainty.LIKELY,
                title=f"{who(member.process)} waits for a lock that was held in its parent when it was forked",
                ranks=RankSet([member.rank] if member.rank is not None else []), processes=(member.process,),
                because=(Reason(f"{view.name} waits in {at(view.wait.user_frame)} for {span(still)}", "python-stack", member.ref),
                         *_library(view, member),
                         Reason(_why(owner, gone, parent), "kernel", member.ref), *(waited_for(root) if root else ())),
                next=("start the workers with spawn or forkserver",
                      Step(f"rankscope stacks pid:{member.ref.pid} --raw", member.ref)),
            )  # fmt: skip
            break


def _shared(member: Member, view: ThreadView) -> bool:
    """Whether it waits for a lock of ``multiprocessing``, of which a fork makes no copy: any process may have that."""
    found, call = member.latest(SharedLocks), view.call
    known = {(lock.tid, lock.address) for lock in found.locks} if found is not None else set()
    return call is not None and ((call.tid, call.address) in known or call.library.startswith(_SEMAPHORES))


def _begins(view: ThreadView) -> bool:
    """Whether it is a loader worker whose loop itself sleeps in native code: it seeds generators before it asks for work, and
    each of those has a lock (torch/utils/data/_utils/worker.py)."""
    last = view.stack[-1] if view.stack else None
    loop = last is not None and (module_path_of(last), last.function) == _LOOP
    return loop and bool(view.lock_word)


# Files that name a pool of threads less well than people do.
_KNOWN_AS = {"libgomp": "OpenMP of GCC", "libiomp5": "OpenMP of Intel", "libomp": "OpenMP of LLVM"}


def _library(view: ThreadView, member: Member) -> Iterator[Reason]:
    """The native library that waits, where it is not the interpreter itself."""
    name = view.call.library if view.call else ""
    if name and not name.startswith(("python", "libpython", "pypy")):
        known = next((words for start, words in _KNOWN_AS.items() if name.startswith(start)), "")
        yield Reason(f"the wait is inside {name}" + (f" ({known})" if known else ""), "kernel", member.ref)


def _threads(parent: Member | None) -> int:
    kernel = parent.latest(Threads) if parent else None
    return len(kernel.threads) if kernel else 0


def _owner_in_parent(view: ThreadView, parent: Member | None) -> int:
    kernel = parent.latest(Threads) if parent else None
    owner = view.call.owner if view.call else 0
    return owner if kernel and owner in {task.tid for task in kernel.threads} else 0


def _owner_gone(view: ThreadView, member: Member) -> int:
    """The thread that the mutex names, where it is none of this process: its owner gave back the lock of which this is a copy."""
    kernel, owner = member.latest(Threads), view.call.owner if view.call and not view.call.shared else 0
    return owner if kernel and owner not in {task.tid for task in kernel.threads} else 0


def _why(owner: int, gone: int, parent: Member | None) -> str:
    if owner or gone:
        ended = "" if owner else ", which has ended there"
        return f"the mutex says that thread {owner or gone} holds it: a thread of the parent{ended}"
    count = _threads(parent)
    return "no thread of this process can hold it" + (f"; its parent has {counted(count, 'thread')}" if count else "")


RULE = make_rule(__name__, __doc__, "fork-with-threads", 16, check)
